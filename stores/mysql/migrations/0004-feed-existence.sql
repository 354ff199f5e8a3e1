-- Tidemark, schema version 4: filters of watched subjects. For MySQL 8, MariaDB 10.11 and TiDB; every statement may be
-- repeated.

-- One row per viewer and month (since January 1970, UTC). The primary key begins with the viewer: a viewer's live months are
-- side by side, and the writes of an hour are spread over all viewers. `filter` is a blob in the format of
-- subgraphs/feed-existence/filter/filter.ts. It is NULL after a quarantine: the row stays with the next version, so that no
-- version repeats. `bytes` is its length, so that measuring reads no blob. `expires_at` never changes, so a write of a filter
-- touches no index but the primary key. Its values are spread over a month, so that rows are not all added at one end.
CREATE TABLE IF NOT EXISTS seen_filters (
  viewer VARBINARY(65) NOT NULL,
  month SMALLINT UNSIGNED NOT NULL,
  version BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  bytes INT UNSIGNED NOT NULL,
  filter MEDIUMBLOB NULL,
  PRIMARY KEY (viewer, month) /*T![clustered_index] CLUSTERED */,
  KEY seen_filters_expiring (expires_at)
) ENGINE=InnoDB;

-- Quarantined filters with their bytes and the reason. They expire with their original rows.
CREATE TABLE IF NOT EXISTS seen_quarantine (
  viewer VARBINARY(65) NOT NULL,
  month SMALLINT UNSIGNED NOT NULL,
  version BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  reason VARCHAR(250) CHARACTER SET utf8mb4 NOT NULL,
  filter MEDIUMBLOB NOT NULL,
  PRIMARY KEY (viewer, month, version) /*T![clustered_index] CLUSTERED */,
  KEY seen_quarantine_expiring (expires_at)
) ENGINE=InnoDB;
