-- Tidemark, schema version 7: which older programs may use the schema. For MySQL 8, MariaDB 10.11 and TiDB; every statement may be
-- repeated.

-- One row. `oldest` is the schema version of the oldest program that may use this schema. Each migration from this one on ends
-- with the statement that sets it: to its own version if older programs would fail or write wrong rows, or else to the version
-- that it had before.
CREATE TABLE IF NOT EXISTS schema_support (
  id TINYINT NOT NULL,
  oldest INT NOT NULL,
  PRIMARY KEY (id) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB;

REPLACE INTO schema_support (id, oldest) VALUES (1, 7);
