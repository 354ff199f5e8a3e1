-- Tidemark, schema version 5: posts, inboxes and filter words of feeds. For MySQL 8, MariaDB 10.11 and TiDB; every statement
-- may be repeated.

-- Ids of posts have 8 bytes, big endian (subgraphs/feed/packed/post-id.ts): the order of their bytes is the order of time, and
-- GROUP_CONCAT of them is a packed vector. Their low bits are the region of the author. The primary key begins with it, so the
-- writes of a moment are spread over all regions instead of the end of an index. `post` is a protobuf Post. `listed` is 1 if
-- the post is in the outbox of its author: public and not deleted. `feed_outbox` covers the read of an outbox. `deleted` is
-- the version of a tombstone, and NULL for other posts. A purge finds old tombstones by it.
CREATE TABLE IF NOT EXISTS feed_posts (
  region SMALLINT UNSIGNED NOT NULL,
  id BINARY(8) NOT NULL,
  author VARBINARY(65) NOT NULL,
  listed TINYINT NOT NULL,
  version BIGINT NOT NULL,
  deleted BIGINT NULL,
  post MEDIUMBLOB NOT NULL,
  PRIMARY KEY (region, id) /*T![clustered_index] CLUSTERED */,
  KEY feed_outbox (author, listed, id DESC),
  KEY feed_deleted (deleted)
) ENGINE=InnoDB;

-- The restricted posts that a viewer may see, without the deleted ones.
CREATE TABLE IF NOT EXISTS feed_inbox (
  viewer VARBINARY(65) NOT NULL,
  id BINARY(8) NOT NULL,
  PRIMARY KEY (viewer, id) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;

-- `words` is a protobuf FilterWords.
CREATE TABLE IF NOT EXISTS feed_words (
  viewer VARBINARY(65) NOT NULL,
  version BIGINT NOT NULL,
  words MEDIUMBLOB NOT NULL,
  PRIMARY KEY (viewer) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;
