import * as $protobuf from "protobufjs";
import Long = require("long");

/** Namespace tidemark. */
export namespace tidemark {

    /**
     * Properties of a Progress.
     * @deprecated Use tidemark.Progress.$Properties instead.
     */
    interface IProgress extends tidemark.Progress.$Properties {
    }

    /** Represents a Progress. */
    class Progress {

        /**
         * Constructs a new Progress.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.Progress.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Progress viewedAt. */
        viewedAt: number;

        /** Progress since. */
        since: number;

        /** Progress rank. */
        rank: number;

        /** Progress version. */
        version: number;

        /** Progress position. */
        position: number;

        /** Progress duration. */
        duration: number;

        /** Progress device. */
        device: string;

        /** Progress finished. */
        finished: boolean;

        /** Progress deleted. */
        deleted: boolean;

        /**
         * Encodes the specified Progress message. Does not implicitly {@link tidemark.Progress.verify|verify} messages.
         * @param message Progress message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.Progress.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Progress message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.Progress & tidemark.Progress.$Shape} Progress
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Progress & tidemark.Progress.$Shape;

        /**
         * Gets the type url for Progress
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace Progress {

        /** Properties of a Progress. */
        interface $Properties {

            /** Progress viewedAt */
            viewedAt?: (number|null);

            /** Progress since */
            since?: (number|null);

            /** Progress rank */
            rank?: (number|null);

            /** Progress version */
            version?: (number|null);

            /** Progress position */
            position?: (number|null);

            /** Progress duration */
            duration?: (number|null);

            /** Progress device */
            device?: (string|null);

            /** Progress finished */
            finished?: (boolean|null);

            /** Progress deleted */
            deleted?: (boolean|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Progress. */
        type $Shape = tidemark.Progress.$Properties;
    }

    /**
     * Properties of a Settings.
     * @deprecated Use tidemark.Settings.$Properties instead.
     */
    interface ISettings extends tidemark.Settings.$Properties {
    }

    /** Represents a Settings. */
    class Settings {

        /**
         * Constructs a new Settings.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.Settings.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Settings paused. */
        paused: boolean;

        /** Settings clearedAt. */
        clearedAt: { [k: string]: number };

        /** Settings version. */
        version: number;

        /**
         * Encodes the specified Settings message. Does not implicitly {@link tidemark.Settings.verify|verify} messages.
         * @param message Settings message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.Settings.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Settings message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.Settings & tidemark.Settings.$Shape} Settings
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Settings & tidemark.Settings.$Shape;

        /**
         * Gets the type url for Settings
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace Settings {

        /** Properties of a Settings. */
        interface $Properties {

            /** Settings paused */
            paused?: (boolean|null);

            /** Settings clearedAt */
            clearedAt?: ({ [k: string]: number }|null);

            /** Settings version */
            version?: (number|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Settings. */
        type $Shape = tidemark.Settings.$Properties;
    }

    /**
     * Properties of a Flush.
     * @deprecated Use tidemark.Flush.$Properties instead.
     */
    interface IFlush extends tidemark.Flush.$Properties {
    }

    /** Represents a Flush. */
    class Flush {

        /**
         * Constructs a new Flush.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.Flush.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Flush region. */
        region: number;

        /** Flush viewers. */
        viewers: tidemark.Flush.Viewer.$Properties[];

        /**
         * Encodes the specified Flush message. Does not implicitly {@link tidemark.Flush.verify|verify} messages.
         * @param message Flush message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.Flush.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Flush message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.Flush & tidemark.Flush.$Shape} Flush
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Flush & tidemark.Flush.$Shape;

        /**
         * Gets the type url for Flush
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace Flush {

        /** Properties of a Flush. */
        interface $Properties {

            /** Flush region */
            region?: (number|null);

            /** Flush viewers */
            viewers?: (tidemark.Flush.Viewer.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Flush. */
        type $Shape = tidemark.Flush.$Properties;

        /**
         * Properties of a Subjects.
         * @deprecated Use tidemark.Flush.Subjects.$Properties instead.
         */
        interface ISubjects extends tidemark.Flush.Subjects.$Properties {
        }

        /** Represents a Subjects. */
        class Subjects {

            /**
             * Constructs a new Subjects.
             * @param [properties] Properties to set
             */
            constructor(properties?: tidemark.Flush.Subjects.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Subjects business. */
            business: number;

            /** Subjects oids. */
            oids: string[];

            /** Subjects stagedOn. */
            stagedOn: number;

            /**
             * Encodes the specified Subjects message. Does not implicitly {@link tidemark.Flush.Subjects.verify|verify} messages.
             * @param message Subjects message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: tidemark.Flush.Subjects.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Subjects message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {tidemark.Flush.Subjects & tidemark.Flush.Subjects.$Shape} Subjects
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Flush.Subjects & tidemark.Flush.Subjects.$Shape;

            /**
             * Gets the type url for Subjects
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Subjects {

            /** Properties of a Subjects. */
            interface $Properties {

                /** Subjects business */
                business?: (number|null);

                /** Subjects oids */
                oids?: (string[]|null);

                /** Subjects stagedOn */
                stagedOn?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Subjects. */
            type $Shape = tidemark.Flush.Subjects.$Properties;
        }

        /**
         * Properties of a Viewer.
         * @deprecated Use tidemark.Flush.Viewer.$Properties instead.
         */
        interface IViewer extends tidemark.Flush.Viewer.$Properties {
        }

        /** Represents a Viewer. */
        class Viewer {

            /**
             * Constructs a new Viewer.
             * @param [properties] Properties to set
             */
            constructor(properties?: tidemark.Flush.Viewer.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Viewer viewer. */
            viewer: string;

            /** Viewer subjects. */
            subjects: tidemark.Flush.Subjects.$Properties[];

            /**
             * Encodes the specified Viewer message. Does not implicitly {@link tidemark.Flush.Viewer.verify|verify} messages.
             * @param message Viewer message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: tidemark.Flush.Viewer.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Viewer message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {tidemark.Flush.Viewer & tidemark.Flush.Viewer.$Shape} Viewer
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Flush.Viewer & tidemark.Flush.Viewer.$Shape;

            /**
             * Gets the type url for Viewer
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Viewer {

            /** Properties of a Viewer. */
            interface $Properties {

                /** Viewer viewer */
                viewer?: (string|null);

                /** Viewer subjects */
                subjects?: (tidemark.Flush.Subjects.$Properties[]|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Viewer. */
            type $Shape = tidemark.Flush.Viewer.$Properties;
        }
    }

    /** RewardKind enum. */
    enum RewardKind {

        /** FIRST_VIEW value */
        FIRST_VIEW = 0,

        /** FIRST_PLAY value */
        FIRST_PLAY = 1,

        /** FIRST_ISSUE value */
        FIRST_ISSUE = 2
    }

    /**
     * Properties of a Reward.
     * @deprecated Use tidemark.Reward.$Properties instead.
     */
    interface IReward extends tidemark.Reward.$Properties {
    }

    /** Represents a Reward. */
    class Reward {

        /**
         * Constructs a new Reward.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.Reward.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Reward id. */
        id: string;

        /** Reward viewer. */
        viewer: string;

        /** Reward business. */
        business: number;

        /** Reward day. */
        day: number;

        /** Reward kind. */
        kind: tidemark.RewardKind;

        /**
         * Encodes the specified Reward message. Does not implicitly {@link tidemark.Reward.verify|verify} messages.
         * @param message Reward message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.Reward.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Reward message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.Reward & tidemark.Reward.$Shape} Reward
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Reward & tidemark.Reward.$Shape;

        /**
         * Gets the type url for Reward
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace Reward {

        /** Properties of a Reward. */
        interface $Properties {

            /** Reward id */
            id?: (string|null);

            /** Reward viewer */
            viewer?: (string|null);

            /** Reward business */
            business?: (number|null);

            /** Reward day */
            day?: (number|null);

            /** Reward kind */
            kind?: (tidemark.RewardKind|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Reward. */
        type $Shape = tidemark.Reward.$Properties;
    }

    /**
     * Properties of a ProgressEvent.
     * @deprecated Use tidemark.ProgressEvent.$Properties instead.
     */
    interface IProgressEvent extends tidemark.ProgressEvent.$Properties {
    }

    /** Represents a ProgressEvent. */
    class ProgressEvent {

        /**
         * Constructs a new ProgressEvent.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.ProgressEvent.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ProgressEvent viewer. */
        viewer: string;

        /** ProgressEvent business. */
        business: number;

        /** ProgressEvent oid. */
        oid: string;

        /** ProgressEvent progress. */
        progress?: (tidemark.Progress.$Properties|null);

        /** ProgressEvent settings. */
        settings?: (tidemark.Settings.$Properties|null);

        /**
         * Encodes the specified ProgressEvent message. Does not implicitly {@link tidemark.ProgressEvent.verify|verify} messages.
         * @param message ProgressEvent message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.ProgressEvent.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ProgressEvent message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.ProgressEvent & tidemark.ProgressEvent.$Shape} ProgressEvent
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.ProgressEvent & tidemark.ProgressEvent.$Shape;

        /**
         * Gets the type url for ProgressEvent
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace ProgressEvent {

        /** Properties of a ProgressEvent. */
        interface $Properties {

            /** ProgressEvent viewer */
            viewer?: (string|null);

            /** ProgressEvent business */
            business?: (number|null);

            /** ProgressEvent oid */
            oid?: (string|null);

            /** ProgressEvent progress */
            progress?: (tidemark.Progress.$Properties|null);

            /** ProgressEvent settings */
            settings?: (tidemark.Settings.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ProgressEvent. */
        type $Shape = tidemark.ProgressEvent.$Properties;
    }

    /** MarkKind enum. */
    enum MarkKind {

        /** NONE value */
        NONE = 0,

        /** LIKE value */
        LIKE = 1,

        /** DISLIKE value */
        DISLIKE = 2
    }

    /**
     * Properties of a MarkEvent.
     * @deprecated Use tidemark.MarkEvent.$Properties instead.
     */
    interface IMarkEvent extends tidemark.MarkEvent.$Properties {
    }

    /** Represents a MarkEvent. */
    class MarkEvent {

        /**
         * Constructs a new MarkEvent.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.MarkEvent.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** MarkEvent id. */
        id: string;

        /** MarkEvent viewer. */
        viewer: string;

        /** MarkEvent business. */
        business: number;

        /** MarkEvent oid. */
        oid: string;

        /** MarkEvent old. */
        old: tidemark.MarkKind;

        /** MarkEvent mark. */
        mark: tidemark.MarkKind;

        /** MarkEvent markedAt. */
        markedAt: number;

        /** MarkEvent version. */
        version: number;

        /**
         * Encodes the specified MarkEvent message. Does not implicitly {@link tidemark.MarkEvent.verify|verify} messages.
         * @param message MarkEvent message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.MarkEvent.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a MarkEvent message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.MarkEvent & tidemark.MarkEvent.$Shape} MarkEvent
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.MarkEvent & tidemark.MarkEvent.$Shape;

        /**
         * Gets the type url for MarkEvent
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace MarkEvent {

        /** Properties of a MarkEvent. */
        interface $Properties {

            /** MarkEvent id */
            id?: (string|null);

            /** MarkEvent viewer */
            viewer?: (string|null);

            /** MarkEvent business */
            business?: (number|null);

            /** MarkEvent oid */
            oid?: (string|null);

            /** MarkEvent old */
            old?: (tidemark.MarkKind|null);

            /** MarkEvent mark */
            mark?: (tidemark.MarkKind|null);

            /** MarkEvent markedAt */
            markedAt?: (number|null);

            /** MarkEvent version */
            version?: (number|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a MarkEvent. */
        type $Shape = tidemark.MarkEvent.$Properties;
    }

    /**
     * Properties of a CountEvent.
     * @deprecated Use tidemark.CountEvent.$Properties instead.
     */
    interface ICountEvent extends tidemark.CountEvent.$Properties {
    }

    /** Represents a CountEvent. */
    class CountEvent {

        /**
         * Constructs a new CountEvent.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.CountEvent.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** CountEvent id. */
        id: string;

        /** CountEvent business. */
        business: number;

        /** CountEvent oid. */
        oid: string;

        /** CountEvent likes. */
        likes: number;

        /** CountEvent dislikes. */
        dislikes: number;

        /** CountEvent version. */
        version: number;

        /**
         * Encodes the specified CountEvent message. Does not implicitly {@link tidemark.CountEvent.verify|verify} messages.
         * @param message CountEvent message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.CountEvent.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a CountEvent message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.CountEvent & tidemark.CountEvent.$Shape} CountEvent
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.CountEvent & tidemark.CountEvent.$Shape;

        /**
         * Gets the type url for CountEvent
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace CountEvent {

        /** Properties of a CountEvent. */
        interface $Properties {

            /** CountEvent id */
            id?: (string|null);

            /** CountEvent business */
            business?: (number|null);

            /** CountEvent oid */
            oid?: (string|null);

            /** CountEvent likes */
            likes?: (number|null);

            /** CountEvent dislikes */
            dislikes?: (number|null);

            /** CountEvent version */
            version?: (number|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a CountEvent. */
        type $Shape = tidemark.CountEvent.$Properties;
    }

    /**
     * Properties of a Plays.
     * @deprecated Use tidemark.Plays.$Properties instead.
     */
    interface IPlays extends tidemark.Plays.$Properties {
    }

    /** Represents a Plays. */
    class Plays {

        /**
         * Constructs a new Plays.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.Plays.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Plays plays. */
        plays: tidemark.Plays.Play.$Properties[];

        /**
         * Encodes the specified Plays message. Does not implicitly {@link tidemark.Plays.verify|verify} messages.
         * @param message Plays message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.Plays.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Plays message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.Plays & tidemark.Plays.$Shape} Plays
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Plays & tidemark.Plays.$Shape;

        /**
         * Gets the type url for Plays
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace Plays {

        /** Properties of a Plays. */
        interface $Properties {

            /** Plays plays */
            plays?: (tidemark.Plays.Play.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Plays. */
        type $Shape = tidemark.Plays.$Properties;

        /**
         * Properties of a Play.
         * @deprecated Use tidemark.Plays.Play.$Properties instead.
         */
        interface IPlay extends tidemark.Plays.Play.$Properties {
        }

        /** Represents a Play. */
        class Play {

            /**
             * Constructs a new Play.
             * @param [properties] Properties to set
             */
            constructor(properties?: tidemark.Plays.Play.$Properties);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];

            /** Play viewer. */
            viewer: string;

            /** Play business. */
            business: number;

            /** Play oid. */
            oid: string;

            /** Play playedAt. */
            playedAt: number;

            /**
             * Encodes the specified Play message. Does not implicitly {@link tidemark.Plays.Play.verify|verify} messages.
             * @param message Play message or plain object to encode
             * @param [writer] Writer to encode to
             * @returns Writer
             */
            static encode(message: tidemark.Plays.Play.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

            /**
             * Decodes a Play message from the specified reader or buffer.
             * @param reader Reader or buffer to decode from
             * @param [length] Message length if known beforehand
             * @returns {tidemark.Plays.Play & tidemark.Plays.Play.$Shape} Play
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Plays.Play & tidemark.Plays.Play.$Shape;

            /**
             * Gets the type url for Play
             * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns The type url
             */
            static getTypeUrl(prefix?: string): string;
        }

        namespace Play {

            /** Properties of a Play. */
            interface $Properties {

                /** Play viewer */
                viewer?: (string|null);

                /** Play business */
                business?: (number|null);

                /** Play oid */
                oid?: (string|null);

                /** Play playedAt */
                playedAt?: (number|null);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];
            }

            /** Shape of a Play. */
            type $Shape = tidemark.Plays.Play.$Properties;
        }
    }

    /**
     * Properties of a Post.
     * @deprecated Use tidemark.Post.$Properties instead.
     */
    interface IPost extends tidemark.Post.$Properties {
    }

    /** Represents a Post. */
    class Post {

        /**
         * Constructs a new Post.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.Post.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Post author. */
        author: string;

        /** Post clientKey. */
        clientKey: string;

        /** Post text. */
        text: string;

        /** Post media. */
        media: string[];

        /** Post source. */
        source: string;

        /** Post restricted. */
        restricted: boolean;

        /** Post audience. */
        audience: string[];

        /** Post deleted. */
        deleted: boolean;

        /** Post version. */
        version: number;

        /**
         * Encodes the specified Post message. Does not implicitly {@link tidemark.Post.verify|verify} messages.
         * @param message Post message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.Post.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Post message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.Post & tidemark.Post.$Shape} Post
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.Post & tidemark.Post.$Shape;

        /**
         * Gets the type url for Post
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace Post {

        /** Properties of a Post. */
        interface $Properties {

            /** Post author */
            author?: (string|null);

            /** Post clientKey */
            clientKey?: (string|null);

            /** Post text */
            text?: (string|null);

            /** Post media */
            media?: (string[]|null);

            /** Post source */
            source?: (string|null);

            /** Post restricted */
            restricted?: (boolean|null);

            /** Post audience */
            audience?: (string[]|null);

            /** Post deleted */
            deleted?: (boolean|null);

            /** Post version */
            version?: (number|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Post. */
        type $Shape = tidemark.Post.$Properties;
    }

    /**
     * Properties of a FilterWords.
     * @deprecated Use tidemark.FilterWords.$Properties instead.
     */
    interface IFilterWords extends tidemark.FilterWords.$Properties {
    }

    /** Represents a FilterWords. */
    class FilterWords {

        /**
         * Constructs a new FilterWords.
         * @param [properties] Properties to set
         */
        constructor(properties?: tidemark.FilterWords.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** FilterWords words. */
        words: string[];

        /** FilterWords version. */
        version: number;

        /**
         * Encodes the specified FilterWords message. Does not implicitly {@link tidemark.FilterWords.verify|verify} messages.
         * @param message FilterWords message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: tidemark.FilterWords.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a FilterWords message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {tidemark.FilterWords & tidemark.FilterWords.$Shape} FilterWords
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): tidemark.FilterWords & tidemark.FilterWords.$Shape;

        /**
         * Gets the type url for FilterWords
         * @param [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns The type url
         */
        static getTypeUrl(prefix?: string): string;
    }

    namespace FilterWords {

        /** Properties of a FilterWords. */
        interface $Properties {

            /** FilterWords words */
            words?: (string[]|null);

            /** FilterWords version */
            version?: (number|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a FilterWords. */
        type $Shape = tidemark.FilterWords.$Properties;
    }
}
