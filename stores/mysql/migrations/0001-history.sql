-- Tidemark, schema version 1. For MySQL 8, MariaDB 10.11 and TiDB. Every statement may be repeated, because a definition
-- commits at once, and a migration that was killed half-way runs again from its beginning.

-- One row per viewer and subject. Ids are packed (core/keys.ts), so that the order of their bytes is the order of ids
-- everywhere. `resume` is a protobuf Progress with the resume point alone (position, duration, device, finished). Values that
-- order and merge records are columns, where the upsert compares them.
--
-- The primary key begins with the viewer: a viewer's rows are side by side, and the writes of a moment are spread over all
-- viewers instead of the end of an index. `history_timeline` has the order of a page; tombstones are separate, so that a page
-- never reads over them. `written_hour` lets a purge find expired rows; it moves at most once an hour per row, while an index
-- on `version` would move with every write.
CREATE TABLE IF NOT EXISTS history (
  viewer VARBINARY(65) NOT NULL,
  business SMALLINT UNSIGNED NOT NULL,
  oid VARBINARY(65) NOT NULL,
  viewed_at BIGINT NOT NULL,
  since BIGINT NOT NULL,
  resume_rank BIGINT NOT NULL,
  version BIGINT NOT NULL,
  deleted TINYINT NOT NULL,
  resume VARBINARY(255) NOT NULL,
  written_hour INT UNSIGNED GENERATED ALWAYS AS (version DIV 3686400000) STORED,
  PRIMARY KEY (viewer, business, oid) /*T![clustered_index] CLUSTERED */,
  KEY history_timeline (viewer, business, deleted, viewed_at DESC, oid),
  KEY history_written (written_hour)
) ENGINE=InnoDB;

-- A viewer's switches under business 0, and one row per cleared business. Separate rows, so that a watermark merges by its
-- maximum inside the upsert.
CREATE TABLE IF NOT EXISTS viewer_settings (
  viewer VARBINARY(65) NOT NULL,
  business SMALLINT UNSIGNED NOT NULL,
  paused TINYINT NOT NULL,
  cleared_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (viewer, business) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;

-- Values that are fixed for the life of a deployment.
CREATE TABLE IF NOT EXISTS deployment (
  id TINYINT NOT NULL PRIMARY KEY,
  regions INT NOT NULL
) ENGINE=InnoDB;

-- The migrations applied so far.
CREATE TABLE IF NOT EXISTS schema_version (
  version INT NOT NULL PRIMARY KEY,
  applied_at BIGINT NOT NULL
) ENGINE=InnoDB;
