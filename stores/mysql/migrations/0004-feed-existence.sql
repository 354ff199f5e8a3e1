-- Tidemark, schema version 4: filters of what viewers watched. For MySQL 8, MariaDB 10.11 and TiDB; every statement may be
-- repeated.

-- One row per viewer and month (since January 1970, UTC). The primary key begins with the viewer: his live months lie side
-- by side, and the writes of an hour spread over all viewers. `filter` is a blob of core/seen-filter.ts, NULL where it was
-- set aside: the row stays with the next version, so that no version comes twice. `bytes` is its length, so that measuring
-- reads no blob. `expires_at` never changes, so a write of a filter touches no index but the primary key; it is spread over
-- a month, so that nothing is entered at one end.
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

-- Filters that could not be read, as they were, and why. They expire as the row they come from.
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
