-- Tidemark, schema version 6: counters of subjects. For MySQL 8, MariaDB 10.11 and TiDB; every statement may be repeated.

-- Absolute totals. `counts` is JSON, such as {"like":12,"read":40317}, without counters that are 0: the counters of a business may change.
-- The row with the higher version stays.
CREATE TABLE IF NOT EXISTS feed_counts (
  business SMALLINT UNSIGNED NOT NULL,
  oid VARBINARY(65) NOT NULL,
  version BIGINT NOT NULL,
  counts VARBINARY(4096) NOT NULL,
  PRIMARY KEY (business, oid) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;
