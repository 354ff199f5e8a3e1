/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

// Common aliases
const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

// Exported root namespace
const $root = $protobuf.roots["default"] || ($protobuf.roots["default"] = {});

export const tidemark = $root.tidemark = (() => {

    /**
     * Namespace tidemark.
     * @exports tidemark
     * @namespace
     */
    const tidemark = {};

    tidemark.Progress = (function() {

        /**
         * Properties of a Progress.
         * @typedef {Object} tidemark.Progress.$Properties
         * @property {number|null} [viewedAt] Progress viewedAt
         * @property {number|null} [since] Progress since
         * @property {number|null} [rank] Progress rank
         * @property {number|null} [version] Progress version
         * @property {number|null} [position] Progress position
         * @property {number|null} [duration] Progress duration
         * @property {string|null} [device] Progress device
         * @property {boolean|null} [finished] Progress finished
         * @property {boolean|null} [deleted] Progress deleted
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a Progress.
         * @memberof tidemark
         * @interface IProgress
         * @augments tidemark.Progress.$Properties
         * @deprecated Use tidemark.Progress.$Properties instead.
         */

        /**
         * Shape of a Progress.
         * @typedef {tidemark.Progress.$Properties} tidemark.Progress.$Shape
         */

        /**
         * Constructs a new Progress.
         * @memberof tidemark
         * @classdesc Represents a Progress.
         * @constructor
         * @param {tidemark.Progress.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const Progress = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * Progress viewedAt.
         * @member {number} viewedAt
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.viewedAt = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * Progress since.
         * @member {number} since
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.since = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * Progress rank.
         * @member {number} rank
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.rank = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * Progress version.
         * @member {number} version
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.version = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * Progress position.
         * @member {number} position
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.position = 0;

        /**
         * Progress duration.
         * @member {number} duration
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.duration = 0;

        /**
         * Progress device.
         * @member {string} device
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.device = "";

        /**
         * Progress finished.
         * @member {boolean} finished
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.finished = false;

        /**
         * Progress deleted.
         * @member {boolean} deleted
         * @memberof tidemark.Progress
         * @instance
         */
        Progress.prototype.deleted = false;

        /**
         * Encodes the specified Progress message. Does not implicitly {@link tidemark.Progress.verify|verify} messages.
         * @function encode
         * @memberof tidemark.Progress
         * @static
         * @param {tidemark.Progress.$Properties} message Progress message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        Progress.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.viewedAt != null && $Object.hasOwnProperty.call(message, "viewedAt") && (typeof message.viewedAt === "object" ? message.viewedAt.low || message.viewedAt.high : message.viewedAt !== 0))
                writer.uint32(/* id 1, wireType 0 =*/8).uint64(message.viewedAt);
            if (message.since != null && $Object.hasOwnProperty.call(message, "since") && (typeof message.since === "object" ? message.since.low || message.since.high : message.since !== 0))
                writer.uint32(/* id 2, wireType 0 =*/16).uint64(message.since);
            if (message.rank != null && $Object.hasOwnProperty.call(message, "rank") && (typeof message.rank === "object" ? message.rank.low || message.rank.high : message.rank !== 0))
                writer.uint32(/* id 3, wireType 0 =*/24).uint64(message.rank);
            if (message.version != null && $Object.hasOwnProperty.call(message, "version") && (typeof message.version === "object" ? message.version.low || message.version.high : message.version !== 0))
                writer.uint32(/* id 4, wireType 0 =*/32).uint64(message.version);
            if (message.position != null && $Object.hasOwnProperty.call(message, "position") && message.position !== 0)
                writer.uint32(/* id 5, wireType 0 =*/40).uint32(message.position);
            if (message.duration != null && $Object.hasOwnProperty.call(message, "duration") && message.duration !== 0)
                writer.uint32(/* id 6, wireType 0 =*/48).uint32(message.duration);
            if (message.device != null && $Object.hasOwnProperty.call(message, "device") && message.device !== "")
                writer.uint32(/* id 7, wireType 2 =*/58).string(message.device);
            if (message.finished != null && $Object.hasOwnProperty.call(message, "finished") && message.finished !== false)
                writer.uint32(/* id 8, wireType 0 =*/64).bool(message.finished);
            if (message.deleted != null && $Object.hasOwnProperty.call(message, "deleted") && message.deleted !== false)
                writer.uint32(/* id 9, wireType 0 =*/72).bool(message.deleted);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a Progress message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.Progress
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.Progress & tidemark.Progress.$Shape} Progress
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        Progress.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.Progress();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.viewedAt = value;
                        else
                            delete message.viewedAt;
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.since = value;
                        else
                            delete message.since;
                        continue;
                    }
                case 3: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.rank = value;
                        else
                            delete message.rank;
                        continue;
                    }
                case 4: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.version = value;
                        else
                            delete message.version;
                        continue;
                    }
                case 5: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.position = value;
                        else
                            delete message.position;
                        continue;
                    }
                case 6: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.duration = value;
                        else
                            delete message.duration;
                        continue;
                    }
                case 7: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.device = value;
                        else
                            delete message.device;
                        continue;
                    }
                case 8: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.finished = value;
                        else
                            delete message.finished;
                        continue;
                    }
                case 9: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.deleted = value;
                        else
                            delete message.deleted;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for Progress
         * @function getTypeUrl
         * @memberof tidemark.Progress
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        Progress.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.Progress";
        };

        return Progress;
    })();

    tidemark.Settings = (function() {

        /**
         * Properties of a Settings.
         * @typedef {Object} tidemark.Settings.$Properties
         * @property {boolean|null} [paused] Settings paused
         * @property {Object.<string,number>|null} [clearedAt] Settings clearedAt
         * @property {number|null} [version] Settings version
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a Settings.
         * @memberof tidemark
         * @interface ISettings
         * @augments tidemark.Settings.$Properties
         * @deprecated Use tidemark.Settings.$Properties instead.
         */

        /**
         * Shape of a Settings.
         * @typedef {tidemark.Settings.$Properties} tidemark.Settings.$Shape
         */

        /**
         * Constructs a new Settings.
         * @memberof tidemark
         * @classdesc Represents a Settings.
         * @constructor
         * @param {tidemark.Settings.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const Settings = function (properties) {
            this.clearedAt = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * Settings paused.
         * @member {boolean} paused
         * @memberof tidemark.Settings
         * @instance
         */
        Settings.prototype.paused = false;

        /**
         * Settings clearedAt.
         * @member {Object.<string,number>} clearedAt
         * @memberof tidemark.Settings
         * @instance
         */
        Settings.prototype.clearedAt = $util.emptyObject;

        /**
         * Settings version.
         * @member {number} version
         * @memberof tidemark.Settings
         * @instance
         */
        Settings.prototype.version = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * Encodes the specified Settings message. Does not implicitly {@link tidemark.Settings.verify|verify} messages.
         * @function encode
         * @memberof tidemark.Settings
         * @static
         * @param {tidemark.Settings.$Properties} message Settings message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        Settings.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.paused != null && $Object.hasOwnProperty.call(message, "paused") && message.paused !== false)
                writer.uint32(/* id 1, wireType 0 =*/8).bool(message.paused);
            if (message.clearedAt != null && $Object.hasOwnProperty.call(message, "clearedAt"))
                for (let keys = $Object.keys(message.clearedAt), i = 0; i < keys.length; ++i)
                    writer.uint32(/* id 2, wireType 2 =*/18).fork().uint32(/* id 1, wireType 0 =*/8).uint32(keys[i]).uint32(/* id 2, wireType 0 =*/16).uint64(message.clearedAt[keys[i]]).ldelim();
            if (message.version != null && $Object.hasOwnProperty.call(message, "version") && (typeof message.version === "object" ? message.version.low || message.version.high : message.version !== 0))
                writer.uint32(/* id 3, wireType 0 =*/24).uint64(message.version);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a Settings message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.Settings
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.Settings & tidemark.Settings.$Shape} Settings
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        Settings.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.Settings();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.paused = value;
                        else
                            delete message.paused;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if (message.clearedAt === $util.emptyObject)
                            message.clearedAt = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = 0;
                        value = $util.Long ? $util.Long.fromNumber(0, true) : 0;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 0)
                                    break;
                                key = reader.uint32();
                                continue;
                            case 2:
                                if (wireType !== 0)
                                    break;
                                value = reader.uint64();
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        message.clearedAt[key] = value;
                        continue;
                    }
                case 3: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.version = value;
                        else
                            delete message.version;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for Settings
         * @function getTypeUrl
         * @memberof tidemark.Settings
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        Settings.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.Settings";
        };

        return Settings;
    })();

    tidemark.Flush = (function() {

        /**
         * Properties of a Flush.
         * @typedef {Object} tidemark.Flush.$Properties
         * @property {number|null} [region] Flush region
         * @property {Array.<tidemark.Flush.Viewer.$Properties>|null} [viewers] Flush viewers
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a Flush.
         * @memberof tidemark
         * @interface IFlush
         * @augments tidemark.Flush.$Properties
         * @deprecated Use tidemark.Flush.$Properties instead.
         */

        /**
         * Shape of a Flush.
         * @typedef {tidemark.Flush.$Properties} tidemark.Flush.$Shape
         */

        /**
         * Constructs a new Flush.
         * @memberof tidemark
         * @classdesc Represents a Flush.
         * @constructor
         * @param {tidemark.Flush.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const Flush = function (properties) {
            this.viewers = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * Flush region.
         * @member {number} region
         * @memberof tidemark.Flush
         * @instance
         */
        Flush.prototype.region = 0;

        /**
         * Flush viewers.
         * @member {Array.<tidemark.Flush.Viewer.$Properties>} viewers
         * @memberof tidemark.Flush
         * @instance
         */
        Flush.prototype.viewers = $util.emptyArray;

        /**
         * Encodes the specified Flush message. Does not implicitly {@link tidemark.Flush.verify|verify} messages.
         * @function encode
         * @memberof tidemark.Flush
         * @static
         * @param {tidemark.Flush.$Properties} message Flush message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        Flush.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.region != null && $Object.hasOwnProperty.call(message, "region") && message.region !== 0)
                writer.uint32(/* id 1, wireType 0 =*/8).uint32(message.region);
            if (message.viewers != null && message.viewers.length)
                for (let i = 0; i < message.viewers.length; ++i)
                    $root.tidemark.Flush.Viewer.encode(message.viewers[i], writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a Flush message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.Flush
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.Flush & tidemark.Flush.$Shape} Flush
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        Flush.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.Flush();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.region = value;
                        else
                            delete message.region;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if (!(message.viewers && message.viewers.length))
                            message.viewers = [];
                        message.viewers.push($root.tidemark.Flush.Viewer.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for Flush
         * @function getTypeUrl
         * @memberof tidemark.Flush
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        Flush.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.Flush";
        };

        Flush.Subjects = (function() {

            /**
             * Properties of a Subjects.
             * @typedef {Object} tidemark.Flush.Subjects.$Properties
             * @property {number|null} [business] Subjects business
             * @property {Array.<string>|null} [oids] Subjects oids
             * @property {number|null} [stagedOn] Subjects stagedOn
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Subjects.
             * @memberof tidemark.Flush
             * @interface ISubjects
             * @augments tidemark.Flush.Subjects.$Properties
             * @deprecated Use tidemark.Flush.Subjects.$Properties instead.
             */

            /**
             * Shape of a Subjects.
             * @typedef {tidemark.Flush.Subjects.$Properties} tidemark.Flush.Subjects.$Shape
             */

            /**
             * Constructs a new Subjects.
             * @memberof tidemark.Flush
             * @classdesc Represents a Subjects.
             * @constructor
             * @param {tidemark.Flush.Subjects.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Subjects = function (properties) {
                this.oids = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Subjects business.
             * @member {number} business
             * @memberof tidemark.Flush.Subjects
             * @instance
             */
            Subjects.prototype.business = 0;

            /**
             * Subjects oids.
             * @member {Array.<string>} oids
             * @memberof tidemark.Flush.Subjects
             * @instance
             */
            Subjects.prototype.oids = $util.emptyArray;

            /**
             * Subjects stagedOn.
             * @member {number} stagedOn
             * @memberof tidemark.Flush.Subjects
             * @instance
             */
            Subjects.prototype.stagedOn = 0;

            /**
             * Encodes the specified Subjects message. Does not implicitly {@link tidemark.Flush.Subjects.verify|verify} messages.
             * @function encode
             * @memberof tidemark.Flush.Subjects
             * @static
             * @param {tidemark.Flush.Subjects.$Properties} message Subjects message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Subjects.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.business != null && $Object.hasOwnProperty.call(message, "business") && message.business !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).uint32(message.business);
                if (message.oids != null && message.oids.length)
                    for (let i = 0; i < message.oids.length; ++i)
                        writer.uint32(/* id 2, wireType 2 =*/18).string(message.oids[i]);
                if (message.stagedOn != null && $Object.hasOwnProperty.call(message, "stagedOn") && message.stagedOn !== 0)
                    writer.uint32(/* id 3, wireType 0 =*/24).uint32(message.stagedOn);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Subjects message from the specified reader or buffer.
             * @function decode
             * @memberof tidemark.Flush.Subjects
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {tidemark.Flush.Subjects & tidemark.Flush.Subjects.$Shape} Subjects
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Subjects.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.tidemark.Flush.Subjects();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.business = value;
                            else
                                delete message.business;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.oids && message.oids.length))
                                message.oids = [];
                            message.oids.push(reader.stringVerify());
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.stagedOn = value;
                            else
                                delete message.stagedOn;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Subjects
             * @function getTypeUrl
             * @memberof tidemark.Flush.Subjects
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Subjects.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/tidemark.Flush.Subjects";
            };

            return Subjects;
        })();

        Flush.Viewer = (function() {

            /**
             * Properties of a Viewer.
             * @typedef {Object} tidemark.Flush.Viewer.$Properties
             * @property {string|null} [viewer] Viewer viewer
             * @property {Array.<tidemark.Flush.Subjects.$Properties>|null} [subjects] Viewer subjects
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Viewer.
             * @memberof tidemark.Flush
             * @interface IViewer
             * @augments tidemark.Flush.Viewer.$Properties
             * @deprecated Use tidemark.Flush.Viewer.$Properties instead.
             */

            /**
             * Shape of a Viewer.
             * @typedef {tidemark.Flush.Viewer.$Properties} tidemark.Flush.Viewer.$Shape
             */

            /**
             * Constructs a new Viewer.
             * @memberof tidemark.Flush
             * @classdesc Represents a Viewer.
             * @constructor
             * @param {tidemark.Flush.Viewer.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Viewer = function (properties) {
                this.subjects = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Viewer viewer.
             * @member {string} viewer
             * @memberof tidemark.Flush.Viewer
             * @instance
             */
            Viewer.prototype.viewer = "";

            /**
             * Viewer subjects.
             * @member {Array.<tidemark.Flush.Subjects.$Properties>} subjects
             * @memberof tidemark.Flush.Viewer
             * @instance
             */
            Viewer.prototype.subjects = $util.emptyArray;

            /**
             * Encodes the specified Viewer message. Does not implicitly {@link tidemark.Flush.Viewer.verify|verify} messages.
             * @function encode
             * @memberof tidemark.Flush.Viewer
             * @static
             * @param {tidemark.Flush.Viewer.$Properties} message Viewer message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Viewer.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.viewer != null && $Object.hasOwnProperty.call(message, "viewer") && message.viewer !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.viewer);
                if (message.subjects != null && message.subjects.length)
                    for (let i = 0; i < message.subjects.length; ++i)
                        $root.tidemark.Flush.Subjects.encode(message.subjects[i], writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Viewer message from the specified reader or buffer.
             * @function decode
             * @memberof tidemark.Flush.Viewer
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {tidemark.Flush.Viewer & tidemark.Flush.Viewer.$Shape} Viewer
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Viewer.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.tidemark.Flush.Viewer();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.viewer = value;
                            else
                                delete message.viewer;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if (!(message.subjects && message.subjects.length))
                                message.subjects = [];
                            message.subjects.push($root.tidemark.Flush.Subjects.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Viewer
             * @function getTypeUrl
             * @memberof tidemark.Flush.Viewer
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Viewer.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/tidemark.Flush.Viewer";
            };

            return Viewer;
        })();

        return Flush;
    })();

    /**
     * RewardKind enum.
     * @name tidemark.RewardKind
     * @enum {number}
     * @property {number} FIRST_VIEW=0 FIRST_VIEW value
     * @property {number} FIRST_PLAY=1 FIRST_PLAY value
     * @property {number} FIRST_ISSUE=2 FIRST_ISSUE value
     */
    tidemark.RewardKind = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "FIRST_VIEW"] = 0;
        values[valuesById[1] = "FIRST_PLAY"] = 1;
        values[valuesById[2] = "FIRST_ISSUE"] = 2;
        return values;
    })();

    tidemark.Reward = (function() {

        /**
         * Properties of a Reward.
         * @typedef {Object} tidemark.Reward.$Properties
         * @property {string|null} [id] Reward id
         * @property {string|null} [viewer] Reward viewer
         * @property {number|null} [business] Reward business
         * @property {number|null} [day] Reward day
         * @property {tidemark.RewardKind|null} [kind] Reward kind
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a Reward.
         * @memberof tidemark
         * @interface IReward
         * @augments tidemark.Reward.$Properties
         * @deprecated Use tidemark.Reward.$Properties instead.
         */

        /**
         * Shape of a Reward.
         * @typedef {tidemark.Reward.$Properties} tidemark.Reward.$Shape
         */

        /**
         * Constructs a new Reward.
         * @memberof tidemark
         * @classdesc Represents a Reward.
         * @constructor
         * @param {tidemark.Reward.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const Reward = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * Reward id.
         * @member {string} id
         * @memberof tidemark.Reward
         * @instance
         */
        Reward.prototype.id = "";

        /**
         * Reward viewer.
         * @member {string} viewer
         * @memberof tidemark.Reward
         * @instance
         */
        Reward.prototype.viewer = "";

        /**
         * Reward business.
         * @member {number} business
         * @memberof tidemark.Reward
         * @instance
         */
        Reward.prototype.business = 0;

        /**
         * Reward day.
         * @member {number} day
         * @memberof tidemark.Reward
         * @instance
         */
        Reward.prototype.day = 0;

        /**
         * Reward kind.
         * @member {tidemark.RewardKind} kind
         * @memberof tidemark.Reward
         * @instance
         */
        Reward.prototype.kind = 0;

        /**
         * Encodes the specified Reward message. Does not implicitly {@link tidemark.Reward.verify|verify} messages.
         * @function encode
         * @memberof tidemark.Reward
         * @static
         * @param {tidemark.Reward.$Properties} message Reward message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        Reward.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.id != null && $Object.hasOwnProperty.call(message, "id") && message.id !== "")
                writer.uint32(/* id 1, wireType 2 =*/10).string(message.id);
            if (message.viewer != null && $Object.hasOwnProperty.call(message, "viewer") && message.viewer !== "")
                writer.uint32(/* id 2, wireType 2 =*/18).string(message.viewer);
            if (message.business != null && $Object.hasOwnProperty.call(message, "business") && message.business !== 0)
                writer.uint32(/* id 3, wireType 0 =*/24).uint32(message.business);
            if (message.day != null && $Object.hasOwnProperty.call(message, "day") && message.day !== 0)
                writer.uint32(/* id 4, wireType 0 =*/32).uint32(message.day);
            if (message.kind != null && $Object.hasOwnProperty.call(message, "kind") && message.kind !== 0)
                writer.uint32(/* id 5, wireType 0 =*/40).int32(message.kind);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a Reward message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.Reward
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.Reward & tidemark.Reward.$Shape} Reward
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        Reward.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.Reward();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.id = value;
                        else
                            delete message.id;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.viewer = value;
                        else
                            delete message.viewer;
                        continue;
                    }
                case 3: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.business = value;
                        else
                            delete message.business;
                        continue;
                    }
                case 4: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.day = value;
                        else
                            delete message.day;
                        continue;
                    }
                case 5: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.kind = value;
                        else
                            delete message.kind;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for Reward
         * @function getTypeUrl
         * @memberof tidemark.Reward
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        Reward.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.Reward";
        };

        return Reward;
    })();

    tidemark.ProgressEvent = (function() {

        /**
         * Properties of a ProgressEvent.
         * @typedef {Object} tidemark.ProgressEvent.$Properties
         * @property {string|null} [viewer] ProgressEvent viewer
         * @property {number|null} [business] ProgressEvent business
         * @property {string|null} [oid] ProgressEvent oid
         * @property {tidemark.Progress.$Properties|null} [progress] ProgressEvent progress
         * @property {tidemark.Settings.$Properties|null} [settings] ProgressEvent settings
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a ProgressEvent.
         * @memberof tidemark
         * @interface IProgressEvent
         * @augments tidemark.ProgressEvent.$Properties
         * @deprecated Use tidemark.ProgressEvent.$Properties instead.
         */

        /**
         * Shape of a ProgressEvent.
         * @typedef {tidemark.ProgressEvent.$Properties} tidemark.ProgressEvent.$Shape
         */

        /**
         * Constructs a new ProgressEvent.
         * @memberof tidemark
         * @classdesc Represents a ProgressEvent.
         * @constructor
         * @param {tidemark.ProgressEvent.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const ProgressEvent = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * ProgressEvent viewer.
         * @member {string} viewer
         * @memberof tidemark.ProgressEvent
         * @instance
         */
        ProgressEvent.prototype.viewer = "";

        /**
         * ProgressEvent business.
         * @member {number} business
         * @memberof tidemark.ProgressEvent
         * @instance
         */
        ProgressEvent.prototype.business = 0;

        /**
         * ProgressEvent oid.
         * @member {string} oid
         * @memberof tidemark.ProgressEvent
         * @instance
         */
        ProgressEvent.prototype.oid = "";

        /**
         * ProgressEvent progress.
         * @member {tidemark.Progress.$Properties|null|undefined} progress
         * @memberof tidemark.ProgressEvent
         * @instance
         */
        ProgressEvent.prototype.progress = null;

        /**
         * ProgressEvent settings.
         * @member {tidemark.Settings.$Properties|null|undefined} settings
         * @memberof tidemark.ProgressEvent
         * @instance
         */
        ProgressEvent.prototype.settings = null;

        /**
         * Encodes the specified ProgressEvent message. Does not implicitly {@link tidemark.ProgressEvent.verify|verify} messages.
         * @function encode
         * @memberof tidemark.ProgressEvent
         * @static
         * @param {tidemark.ProgressEvent.$Properties} message ProgressEvent message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        ProgressEvent.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.viewer != null && $Object.hasOwnProperty.call(message, "viewer") && message.viewer !== "")
                writer.uint32(/* id 1, wireType 2 =*/10).string(message.viewer);
            if (message.business != null && $Object.hasOwnProperty.call(message, "business") && message.business !== 0)
                writer.uint32(/* id 2, wireType 0 =*/16).uint32(message.business);
            if (message.oid != null && $Object.hasOwnProperty.call(message, "oid") && message.oid !== "")
                writer.uint32(/* id 3, wireType 2 =*/26).string(message.oid);
            if (message.progress != null && $Object.hasOwnProperty.call(message, "progress"))
                $root.tidemark.Progress.encode(message.progress, writer.uint32(/* id 4, wireType 2 =*/34).fork(), _depth + 1).ldelim();
            if (message.settings != null && $Object.hasOwnProperty.call(message, "settings"))
                $root.tidemark.Settings.encode(message.settings, writer.uint32(/* id 5, wireType 2 =*/42).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a ProgressEvent message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.ProgressEvent
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.ProgressEvent & tidemark.ProgressEvent.$Shape} ProgressEvent
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        ProgressEvent.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.ProgressEvent();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.viewer = value;
                        else
                            delete message.viewer;
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.business = value;
                        else
                            delete message.business;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.oid = value;
                        else
                            delete message.oid;
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        message.progress = $root.tidemark.Progress.decode(reader, reader.size(), $undefined, _depth + 1, message.progress);
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.settings = $root.tidemark.Settings.decode(reader, reader.size(), $undefined, _depth + 1, message.settings);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for ProgressEvent
         * @function getTypeUrl
         * @memberof tidemark.ProgressEvent
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        ProgressEvent.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.ProgressEvent";
        };

        return ProgressEvent;
    })();

    /**
     * MarkKind enum.
     * @name tidemark.MarkKind
     * @enum {number}
     * @property {number} NONE=0 NONE value
     * @property {number} LIKE=1 LIKE value
     * @property {number} DISLIKE=2 DISLIKE value
     */
    tidemark.MarkKind = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "NONE"] = 0;
        values[valuesById[1] = "LIKE"] = 1;
        values[valuesById[2] = "DISLIKE"] = 2;
        return values;
    })();

    tidemark.MarkEvent = (function() {

        /**
         * Properties of a MarkEvent.
         * @typedef {Object} tidemark.MarkEvent.$Properties
         * @property {string|null} [id] MarkEvent id
         * @property {string|null} [viewer] MarkEvent viewer
         * @property {number|null} [business] MarkEvent business
         * @property {string|null} [oid] MarkEvent oid
         * @property {tidemark.MarkKind|null} [old] MarkEvent old
         * @property {tidemark.MarkKind|null} [mark] MarkEvent mark
         * @property {number|null} [markedAt] MarkEvent markedAt
         * @property {number|null} [version] MarkEvent version
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a MarkEvent.
         * @memberof tidemark
         * @interface IMarkEvent
         * @augments tidemark.MarkEvent.$Properties
         * @deprecated Use tidemark.MarkEvent.$Properties instead.
         */

        /**
         * Shape of a MarkEvent.
         * @typedef {tidemark.MarkEvent.$Properties} tidemark.MarkEvent.$Shape
         */

        /**
         * Constructs a new MarkEvent.
         * @memberof tidemark
         * @classdesc Represents a MarkEvent.
         * @constructor
         * @param {tidemark.MarkEvent.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const MarkEvent = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * MarkEvent id.
         * @member {string} id
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.id = "";

        /**
         * MarkEvent viewer.
         * @member {string} viewer
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.viewer = "";

        /**
         * MarkEvent business.
         * @member {number} business
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.business = 0;

        /**
         * MarkEvent oid.
         * @member {string} oid
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.oid = "";

        /**
         * MarkEvent old.
         * @member {tidemark.MarkKind} old
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.old = 0;

        /**
         * MarkEvent mark.
         * @member {tidemark.MarkKind} mark
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.mark = 0;

        /**
         * MarkEvent markedAt.
         * @member {number} markedAt
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.markedAt = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * MarkEvent version.
         * @member {number} version
         * @memberof tidemark.MarkEvent
         * @instance
         */
        MarkEvent.prototype.version = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * Encodes the specified MarkEvent message. Does not implicitly {@link tidemark.MarkEvent.verify|verify} messages.
         * @function encode
         * @memberof tidemark.MarkEvent
         * @static
         * @param {tidemark.MarkEvent.$Properties} message MarkEvent message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        MarkEvent.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.id != null && $Object.hasOwnProperty.call(message, "id") && message.id !== "")
                writer.uint32(/* id 1, wireType 2 =*/10).string(message.id);
            if (message.viewer != null && $Object.hasOwnProperty.call(message, "viewer") && message.viewer !== "")
                writer.uint32(/* id 2, wireType 2 =*/18).string(message.viewer);
            if (message.business != null && $Object.hasOwnProperty.call(message, "business") && message.business !== 0)
                writer.uint32(/* id 3, wireType 0 =*/24).uint32(message.business);
            if (message.oid != null && $Object.hasOwnProperty.call(message, "oid") && message.oid !== "")
                writer.uint32(/* id 4, wireType 2 =*/34).string(message.oid);
            if (message.old != null && $Object.hasOwnProperty.call(message, "old") && message.old !== 0)
                writer.uint32(/* id 5, wireType 0 =*/40).int32(message.old);
            if (message.mark != null && $Object.hasOwnProperty.call(message, "mark") && message.mark !== 0)
                writer.uint32(/* id 6, wireType 0 =*/48).int32(message.mark);
            if (message.markedAt != null && $Object.hasOwnProperty.call(message, "markedAt") && (typeof message.markedAt === "object" ? message.markedAt.low || message.markedAt.high : message.markedAt !== 0))
                writer.uint32(/* id 7, wireType 0 =*/56).uint64(message.markedAt);
            if (message.version != null && $Object.hasOwnProperty.call(message, "version") && (typeof message.version === "object" ? message.version.low || message.version.high : message.version !== 0))
                writer.uint32(/* id 8, wireType 0 =*/64).uint64(message.version);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a MarkEvent message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.MarkEvent
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.MarkEvent & tidemark.MarkEvent.$Shape} MarkEvent
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        MarkEvent.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.MarkEvent();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.id = value;
                        else
                            delete message.id;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.viewer = value;
                        else
                            delete message.viewer;
                        continue;
                    }
                case 3: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.business = value;
                        else
                            delete message.business;
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.oid = value;
                        else
                            delete message.oid;
                        continue;
                    }
                case 5: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.old = value;
                        else
                            delete message.old;
                        continue;
                    }
                case 6: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.mark = value;
                        else
                            delete message.mark;
                        continue;
                    }
                case 7: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.markedAt = value;
                        else
                            delete message.markedAt;
                        continue;
                    }
                case 8: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.version = value;
                        else
                            delete message.version;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for MarkEvent
         * @function getTypeUrl
         * @memberof tidemark.MarkEvent
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        MarkEvent.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.MarkEvent";
        };

        return MarkEvent;
    })();

    tidemark.CountEvent = (function() {

        /**
         * Properties of a CountEvent.
         * @typedef {Object} tidemark.CountEvent.$Properties
         * @property {string|null} [id] CountEvent id
         * @property {number|null} [business] CountEvent business
         * @property {string|null} [oid] CountEvent oid
         * @property {number|null} [likes] CountEvent likes
         * @property {number|null} [dislikes] CountEvent dislikes
         * @property {number|null} [version] CountEvent version
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a CountEvent.
         * @memberof tidemark
         * @interface ICountEvent
         * @augments tidemark.CountEvent.$Properties
         * @deprecated Use tidemark.CountEvent.$Properties instead.
         */

        /**
         * Shape of a CountEvent.
         * @typedef {tidemark.CountEvent.$Properties} tidemark.CountEvent.$Shape
         */

        /**
         * Constructs a new CountEvent.
         * @memberof tidemark
         * @classdesc Represents a CountEvent.
         * @constructor
         * @param {tidemark.CountEvent.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const CountEvent = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * CountEvent id.
         * @member {string} id
         * @memberof tidemark.CountEvent
         * @instance
         */
        CountEvent.prototype.id = "";

        /**
         * CountEvent business.
         * @member {number} business
         * @memberof tidemark.CountEvent
         * @instance
         */
        CountEvent.prototype.business = 0;

        /**
         * CountEvent oid.
         * @member {string} oid
         * @memberof tidemark.CountEvent
         * @instance
         */
        CountEvent.prototype.oid = "";

        /**
         * CountEvent likes.
         * @member {number} likes
         * @memberof tidemark.CountEvent
         * @instance
         */
        CountEvent.prototype.likes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * CountEvent dislikes.
         * @member {number} dislikes
         * @memberof tidemark.CountEvent
         * @instance
         */
        CountEvent.prototype.dislikes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * CountEvent version.
         * @member {number} version
         * @memberof tidemark.CountEvent
         * @instance
         */
        CountEvent.prototype.version = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        /**
         * Encodes the specified CountEvent message. Does not implicitly {@link tidemark.CountEvent.verify|verify} messages.
         * @function encode
         * @memberof tidemark.CountEvent
         * @static
         * @param {tidemark.CountEvent.$Properties} message CountEvent message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        CountEvent.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.id != null && $Object.hasOwnProperty.call(message, "id") && message.id !== "")
                writer.uint32(/* id 1, wireType 2 =*/10).string(message.id);
            if (message.business != null && $Object.hasOwnProperty.call(message, "business") && message.business !== 0)
                writer.uint32(/* id 2, wireType 0 =*/16).uint32(message.business);
            if (message.oid != null && $Object.hasOwnProperty.call(message, "oid") && message.oid !== "")
                writer.uint32(/* id 3, wireType 2 =*/26).string(message.oid);
            if (message.likes != null && $Object.hasOwnProperty.call(message, "likes") && (typeof message.likes === "object" ? message.likes.low || message.likes.high : message.likes !== 0))
                writer.uint32(/* id 4, wireType 0 =*/32).uint64(message.likes);
            if (message.dislikes != null && $Object.hasOwnProperty.call(message, "dislikes") && (typeof message.dislikes === "object" ? message.dislikes.low || message.dislikes.high : message.dislikes !== 0))
                writer.uint32(/* id 5, wireType 0 =*/40).uint64(message.dislikes);
            if (message.version != null && $Object.hasOwnProperty.call(message, "version") && (typeof message.version === "object" ? message.version.low || message.version.high : message.version !== 0))
                writer.uint32(/* id 6, wireType 0 =*/48).uint64(message.version);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a CountEvent message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.CountEvent
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.CountEvent & tidemark.CountEvent.$Shape} CountEvent
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        CountEvent.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.CountEvent();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.id = value;
                        else
                            delete message.id;
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.uint32())
                            message.business = value;
                        else
                            delete message.business;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.oid = value;
                        else
                            delete message.oid;
                        continue;
                    }
                case 4: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.likes = value;
                        else
                            delete message.likes;
                        continue;
                    }
                case 5: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.dislikes = value;
                        else
                            delete message.dislikes;
                        continue;
                    }
                case 6: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.version = value;
                        else
                            delete message.version;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for CountEvent
         * @function getTypeUrl
         * @memberof tidemark.CountEvent
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        CountEvent.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.CountEvent";
        };

        return CountEvent;
    })();

    tidemark.Plays = (function() {

        /**
         * Properties of a Plays.
         * @typedef {Object} tidemark.Plays.$Properties
         * @property {Array.<tidemark.Plays.Play.$Properties>|null} [plays] Plays plays
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a Plays.
         * @memberof tidemark
         * @interface IPlays
         * @augments tidemark.Plays.$Properties
         * @deprecated Use tidemark.Plays.$Properties instead.
         */

        /**
         * Shape of a Plays.
         * @typedef {tidemark.Plays.$Properties} tidemark.Plays.$Shape
         */

        /**
         * Constructs a new Plays.
         * @memberof tidemark
         * @classdesc Represents a Plays.
         * @constructor
         * @param {tidemark.Plays.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const Plays = function (properties) {
            this.plays = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * Plays plays.
         * @member {Array.<tidemark.Plays.Play.$Properties>} plays
         * @memberof tidemark.Plays
         * @instance
         */
        Plays.prototype.plays = $util.emptyArray;

        /**
         * Encodes the specified Plays message. Does not implicitly {@link tidemark.Plays.verify|verify} messages.
         * @function encode
         * @memberof tidemark.Plays
         * @static
         * @param {tidemark.Plays.$Properties} message Plays message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        Plays.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.plays != null && message.plays.length)
                for (let i = 0; i < message.plays.length; ++i)
                    $root.tidemark.Plays.Play.encode(message.plays[i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a Plays message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.Plays
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.Plays & tidemark.Plays.$Shape} Plays
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        Plays.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.Plays();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.plays && message.plays.length))
                            message.plays = [];
                        message.plays.push($root.tidemark.Plays.Play.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for Plays
         * @function getTypeUrl
         * @memberof tidemark.Plays
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        Plays.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.Plays";
        };

        Plays.Play = (function() {

            /**
             * Properties of a Play.
             * @typedef {Object} tidemark.Plays.Play.$Properties
             * @property {string|null} [viewer] Play viewer
             * @property {number|null} [business] Play business
             * @property {string|null} [oid] Play oid
             * @property {number|null} [playedAt] Play playedAt
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Play.
             * @memberof tidemark.Plays
             * @interface IPlay
             * @augments tidemark.Plays.Play.$Properties
             * @deprecated Use tidemark.Plays.Play.$Properties instead.
             */

            /**
             * Shape of a Play.
             * @typedef {tidemark.Plays.Play.$Properties} tidemark.Plays.Play.$Shape
             */

            /**
             * Constructs a new Play.
             * @memberof tidemark.Plays
             * @classdesc Represents a Play.
             * @constructor
             * @param {tidemark.Plays.Play.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Play = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Play viewer.
             * @member {string} viewer
             * @memberof tidemark.Plays.Play
             * @instance
             */
            Play.prototype.viewer = "";

            /**
             * Play business.
             * @member {number} business
             * @memberof tidemark.Plays.Play
             * @instance
             */
            Play.prototype.business = 0;

            /**
             * Play oid.
             * @member {string} oid
             * @memberof tidemark.Plays.Play
             * @instance
             */
            Play.prototype.oid = "";

            /**
             * Play playedAt.
             * @member {number} playedAt
             * @memberof tidemark.Plays.Play
             * @instance
             */
            Play.prototype.playedAt = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

            /**
             * Encodes the specified Play message. Does not implicitly {@link tidemark.Plays.Play.verify|verify} messages.
             * @function encode
             * @memberof tidemark.Plays.Play
             * @static
             * @param {tidemark.Plays.Play.$Properties} message Play message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Play.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.viewer != null && $Object.hasOwnProperty.call(message, "viewer") && message.viewer !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.viewer);
                if (message.business != null && $Object.hasOwnProperty.call(message, "business") && message.business !== 0)
                    writer.uint32(/* id 2, wireType 0 =*/16).uint32(message.business);
                if (message.oid != null && $Object.hasOwnProperty.call(message, "oid") && message.oid !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.oid);
                if (message.playedAt != null && $Object.hasOwnProperty.call(message, "playedAt") && (typeof message.playedAt === "object" ? message.playedAt.low || message.playedAt.high : message.playedAt !== 0))
                    writer.uint32(/* id 4, wireType 0 =*/32).uint64(message.playedAt);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Play message from the specified reader or buffer.
             * @function decode
             * @memberof tidemark.Plays.Play
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {tidemark.Plays.Play & tidemark.Plays.Play.$Shape} Play
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Play.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.tidemark.Plays.Play();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.viewer = value;
                            else
                                delete message.viewer;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.business = value;
                            else
                                delete message.business;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.oid = value;
                            else
                                delete message.oid;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                message.playedAt = value;
                            else
                                delete message.playedAt;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            /**
             * Gets the type url for Play
             * @function getTypeUrl
             * @memberof tidemark.Plays.Play
             * @static
             * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
             * @returns {string} The type url
             */
            Play.getTypeUrl = function(prefix) {
                if (prefix === $undefined)
                    prefix = "type.googleapis.com";
                return prefix + "/tidemark.Plays.Play";
            };

            return Play;
        })();

        return Plays;
    })();

    tidemark.Post = (function() {

        /**
         * Properties of a Post.
         * @typedef {Object} tidemark.Post.$Properties
         * @property {string|null} [author] Post author
         * @property {string|null} [clientKey] Post clientKey
         * @property {string|null} [text] Post text
         * @property {Array.<string>|null} [media] Post media
         * @property {string|null} [source] Post source
         * @property {boolean|null} [restricted] Post restricted
         * @property {Array.<string>|null} [audience] Post audience
         * @property {boolean|null} [deleted] Post deleted
         * @property {number|null} [version] Post version
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a Post.
         * @memberof tidemark
         * @interface IPost
         * @augments tidemark.Post.$Properties
         * @deprecated Use tidemark.Post.$Properties instead.
         */

        /**
         * Shape of a Post.
         * @typedef {tidemark.Post.$Properties} tidemark.Post.$Shape
         */

        /**
         * Constructs a new Post.
         * @memberof tidemark
         * @classdesc Represents a Post.
         * @constructor
         * @param {tidemark.Post.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const Post = function (properties) {
            this.media = [];
            this.audience = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * Post author.
         * @member {string} author
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.author = "";

        /**
         * Post clientKey.
         * @member {string} clientKey
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.clientKey = "";

        /**
         * Post text.
         * @member {string} text
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.text = "";

        /**
         * Post media.
         * @member {Array.<string>} media
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.media = $util.emptyArray;

        /**
         * Post source.
         * @member {string} source
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.source = "";

        /**
         * Post restricted.
         * @member {boolean} restricted
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.restricted = false;

        /**
         * Post audience.
         * @member {Array.<string>} audience
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.audience = $util.emptyArray;

        /**
         * Post deleted.
         * @member {boolean} deleted
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.deleted = false;

        /**
         * Post version.
         * @member {number} version
         * @memberof tidemark.Post
         * @instance
         */
        Post.prototype.version = 0;

        /**
         * Encodes the specified Post message. Does not implicitly {@link tidemark.Post.verify|verify} messages.
         * @function encode
         * @memberof tidemark.Post
         * @static
         * @param {tidemark.Post.$Properties} message Post message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        Post.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.author != null && $Object.hasOwnProperty.call(message, "author") && message.author !== "")
                writer.uint32(/* id 1, wireType 2 =*/10).string(message.author);
            if (message.clientKey != null && $Object.hasOwnProperty.call(message, "clientKey") && message.clientKey !== "")
                writer.uint32(/* id 2, wireType 2 =*/18).string(message.clientKey);
            if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
                writer.uint32(/* id 3, wireType 2 =*/26).string(message.text);
            if (message.media != null && message.media.length)
                for (let i = 0; i < message.media.length; ++i)
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.media[i]);
            if (message.source != null && $Object.hasOwnProperty.call(message, "source") && message.source !== "")
                writer.uint32(/* id 5, wireType 2 =*/42).string(message.source);
            if (message.restricted != null && $Object.hasOwnProperty.call(message, "restricted") && message.restricted !== false)
                writer.uint32(/* id 6, wireType 0 =*/48).bool(message.restricted);
            if (message.audience != null && message.audience.length)
                for (let i = 0; i < message.audience.length; ++i)
                    writer.uint32(/* id 7, wireType 2 =*/58).string(message.audience[i]);
            if (message.deleted != null && $Object.hasOwnProperty.call(message, "deleted") && message.deleted !== false)
                writer.uint32(/* id 8, wireType 0 =*/64).bool(message.deleted);
            if (message.version != null && $Object.hasOwnProperty.call(message, "version") && !$Object.is(message.version, 0))
                writer.uint32(/* id 15, wireType 1 =*/121).double(message.version);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a Post message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.Post
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.Post & tidemark.Post.$Shape} Post
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        Post.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.Post();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.author = value;
                        else
                            delete message.author;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.clientKey = value;
                        else
                            delete message.clientKey;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.text = value;
                        else
                            delete message.text;
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        if (!(message.media && message.media.length))
                            message.media = [];
                        message.media.push(reader.stringVerify());
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.source = value;
                        else
                            delete message.source;
                        continue;
                    }
                case 6: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.restricted = value;
                        else
                            delete message.restricted;
                        continue;
                    }
                case 7: {
                        if (wireType !== 2)
                            break;
                        if (!(message.audience && message.audience.length))
                            message.audience = [];
                        message.audience.push(reader.stringVerify());
                        continue;
                    }
                case 8: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.deleted = value;
                        else
                            delete message.deleted;
                        continue;
                    }
                case 15: {
                        if (wireType !== 1)
                            break;
                        if (!$Object.is(value = reader.double(), 0))
                            message.version = value;
                        else
                            delete message.version;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for Post
         * @function getTypeUrl
         * @memberof tidemark.Post
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        Post.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.Post";
        };

        return Post;
    })();

    tidemark.FilterWords = (function() {

        /**
         * Properties of a FilterWords.
         * @typedef {Object} tidemark.FilterWords.$Properties
         * @property {Array.<string>|null} [words] FilterWords words
         * @property {number|null} [version] FilterWords version
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */

        /**
         * Properties of a FilterWords.
         * @memberof tidemark
         * @interface IFilterWords
         * @augments tidemark.FilterWords.$Properties
         * @deprecated Use tidemark.FilterWords.$Properties instead.
         */

        /**
         * Shape of a FilterWords.
         * @typedef {tidemark.FilterWords.$Properties} tidemark.FilterWords.$Shape
         */

        /**
         * Constructs a new FilterWords.
         * @memberof tidemark
         * @classdesc Represents a FilterWords.
         * @constructor
         * @param {tidemark.FilterWords.$Properties=} [properties] Properties to set
         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
         */
        const FilterWords = function (properties) {
            this.words = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        /**
         * FilterWords words.
         * @member {Array.<string>} words
         * @memberof tidemark.FilterWords
         * @instance
         */
        FilterWords.prototype.words = $util.emptyArray;

        /**
         * FilterWords version.
         * @member {number} version
         * @memberof tidemark.FilterWords
         * @instance
         */
        FilterWords.prototype.version = 0;

        /**
         * Encodes the specified FilterWords message. Does not implicitly {@link tidemark.FilterWords.verify|verify} messages.
         * @function encode
         * @memberof tidemark.FilterWords
         * @static
         * @param {tidemark.FilterWords.$Properties} message FilterWords message or plain object to encode
         * @param {$protobuf.Writer} [writer] Writer to encode to
         * @returns {$protobuf.Writer} Writer
         */
        FilterWords.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.words != null && message.words.length)
                for (let i = 0; i < message.words.length; ++i)
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.words[i]);
            if (message.version != null && $Object.hasOwnProperty.call(message, "version") && !$Object.is(message.version, 0))
                writer.uint32(/* id 15, wireType 1 =*/121).double(message.version);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        /**
         * Decodes a FilterWords message from the specified reader or buffer.
         * @function decode
         * @memberof tidemark.FilterWords
         * @static
         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
         * @param {number} [length] Message length if known beforehand
         * @returns {tidemark.FilterWords & tidemark.FilterWords.$Shape} FilterWords
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        FilterWords.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.tidemark.FilterWords();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.words && message.words.length))
                            message.words = [];
                        message.words.push(reader.stringVerify());
                        continue;
                    }
                case 15: {
                        if (wireType !== 1)
                            break;
                        if (!$Object.is(value = reader.double(), 0))
                            message.version = value;
                        else
                            delete message.version;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        /**
         * Gets the type url for FilterWords
         * @function getTypeUrl
         * @memberof tidemark.FilterWords
         * @static
         * @param {string} [prefix] Custom type url prefix, defaults to `"type.googleapis.com"`
         * @returns {string} The type url
         */
        FilterWords.getTypeUrl = function(prefix) {
            if (prefix === $undefined)
                prefix = "type.googleapis.com";
            return prefix + "/tidemark.FilterWords";
        };

        return FilterWords;
    })();

    return tidemark;
})();

export {
  $root as default
};
// records.proto d0b118458616f5899945e8a8dedcef59bee8e24bc535b88eee61849b93a27c95
