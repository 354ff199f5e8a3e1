-- Tidemark, schema version 3: the change feed. For MySQL 8, MariaDB 10.11 and TiDB; every statement may be repeated.

-- A feed writes its own beat each second and waits until it comes back through the binary log, or through TiCDC: then
-- everything committed before the beat has come too. `instance` is the process's: others under the same name do not count.
CREATE TABLE IF NOT EXISTS heartbeats (
  feed VARBINARY(64) NOT NULL,
  instance VARBINARY(32) NOT NULL,
  beat_at BIGINT NOT NULL,
  PRIMARY KEY (feed) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;

-- How far a feed's changes were taken: JSON, a set of GTIDs or a file of the binary log with a position.
CREATE TABLE IF NOT EXISTS feed_places (
  feed VARBINARY(64) NOT NULL,
  place MEDIUMBLOB NOT NULL,
  PRIMARY KEY (feed) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;
