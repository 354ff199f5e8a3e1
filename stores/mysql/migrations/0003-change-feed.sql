-- Tidemark, schema version 3: the change feed. For MySQL 8, MariaDB 10.11 and TiDB; every statement may be repeated.

-- A feed writes its own heartbeat each second and waits until it returns through the binary log, or through TiCDC. Everything
-- committed before the heartbeat has then arrived too. `instance` is that of the process: others under the same name do not count.
CREATE TABLE IF NOT EXISTS heartbeats (
  feed VARBINARY(64) NOT NULL,
  instance VARBINARY(32) NOT NULL,
  beat_at BIGINT NOT NULL,
  PRIMARY KEY (feed) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;

-- The position up to which a feed's changes were applied: JSON, a set of GTIDs, or a file of the binary log with a position.
CREATE TABLE IF NOT EXISTS feed_places (
  feed VARBINARY(64) NOT NULL,
  place MEDIUMBLOB NOT NULL,
  PRIMARY KEY (feed) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;
