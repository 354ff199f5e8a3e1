-- Tidemark, schema version 2: marks. For MySQL 8, MariaDB 10.11 and TiDB; every statement may be repeated.

-- One row per viewer and subject; `mark` is 0 NONE, 1 LIKE, 2 DISLIKE. Ids are packed, as in `history`.
--
-- Every key begins with the business: a tenant's rows are one range to export and to delete, and two tenants may have equal
-- ids. The viewer comes next, so the writes of a moment are spread over all viewers. `likes_of_viewer` and `likes_of_subject`
-- have the order of pages. `covers` is the mark that the archive still has of this key, and that the row hides: a recount
-- subtracts it, and a tombstone with one is not removed. `likes_aged` finds rows to archive and to remove. It is ordered by the
-- hour and then by the key, so that the writes of a moment do not all go to the end of an index.
CREATE TABLE IF NOT EXISTS likes (
  business SMALLINT UNSIGNED NOT NULL,
  viewer VARBINARY(65) NOT NULL,
  oid VARBINARY(65) NOT NULL,
  mark TINYINT NOT NULL,
  marked_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  covers TINYINT NOT NULL DEFAULT 0,
  marked_hour INT UNSIGNED GENERATED ALWAYS AS (marked_at DIV 3600000) STORED,
  PRIMARY KEY (business, viewer, oid) /*T![clustered_index] CLUSTERED */,
  KEY likes_of_viewer (business, viewer, mark, marked_at DESC, oid),
  KEY likes_of_subject (business, oid, mark, marked_at DESC, viewer, covers),
  KEY likes_aged (mark, covers, marked_hour)
) ENGINE=InnoDB;

-- The number of rows of a subject, in both tiers, per state; and the owner of the subject, if it was registered. `version`
-- counts the transactions that changed it, 0 if only the owner is known.
CREATE TABLE IF NOT EXISTS counts (
  business SMALLINT UNSIGNED NOT NULL,
  oid VARBINARY(65) NOT NULL,
  likes BIGINT NOT NULL,
  dislikes BIGINT NOT NULL,
  version BIGINT NOT NULL,
  owner VARBINARY(65) NULL,
  PRIMARY KEY (business, oid) /*T![clustered_index] CLUSTERED */,
  KEY counts_by_oid (oid),
  KEY counts_of_owner (business, owner)
) ENGINE=InnoDB;

-- Likes received by the subjects of an owner.
CREATE TABLE IF NOT EXISTS owners (
  business SMALLINT UNSIGNED NOT NULL,
  owner VARBINARY(65) NOT NULL,
  likes BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (business, owner) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;

-- The persisted position of a stream. Written in the transaction that wrote its messages.
CREATE TABLE IF NOT EXISTS offsets (
  stream VARBINARY(255) NOT NULL,
  stream_partition INT NOT NULL,
  persisted BIGINT NOT NULL,
  PRIMARY KEY (stream, stream_partition) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;

-- The changes of a transaction, until its events are in the log: JSON in UTF-8, cut into parts that fit into a packet. The
-- comment is for TiDB, whose nodes otherwise assign numbers in blocks and not in order.
CREATE TABLE IF NOT EXISTS outbox (
  number BIGINT NOT NULL AUTO_INCREMENT,
  part SMALLINT UNSIGNED NOT NULL,
  changes MEDIUMBLOB NOT NULL,
  PRIMARY KEY (number, part)
) ENGINE=InnoDB /*T![auto_id_cache] AUTO_ID_CACHE 1 */;

-- The archive: blocks (subgraphs/thumbup/archive/block.ts) of a viewer's marks (side 0, id is the viewer) and of a subject's
-- (side 1, id is the oid), in the order of pages. A block is found by its oldest entry, which stays while the newest block
-- fills up.
CREATE TABLE IF NOT EXISTS mark_blocks (
  business SMALLINT UNSIGNED NOT NULL,
  side TINYINT NOT NULL,
  id VARBINARY(65) NOT NULL,
  oldest_at BIGINT NOT NULL,
  oldest_id VARBINARY(65) NOT NULL,
  newest_at BIGINT NOT NULL,
  likes INT NOT NULL,
  dislikes INT NOT NULL,
  block MEDIUMBLOB NOT NULL,
  PRIMARY KEY (business, side, id, oldest_at DESC, oldest_id) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;
