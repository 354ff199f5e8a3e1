-- For the change feed of counts. MySQL reads this file when it creates the database; in one that exists already, run it once as root.
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'tidemark'@'%';
