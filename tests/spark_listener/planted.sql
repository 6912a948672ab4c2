CREATE TABLE secrets (id BIGINT COMMENT 'planted-column', name STRING) USING parquet
OPTIONS (token 'planted-table-option') LOCATION '{folder}/secrets' COMMENT 'planted-comment'
TBLPROPERTIES ('owner.key' = 'planted-property');

CREATE VIEW secret_view (id COMMENT 'planted-view-column', name) TBLPROPERTIES ('a' = 'planted-view-property')
AS SELECT id, concat(name, 'planted-view') AS name FROM secrets WHERE name <> 'planted-view';

CREATE TEMPORARY VIEW secret_files USING parquet
OPTIONS (path '{signed}', 'fs.azure.account.key' 'planted-view-option');

INSERT INTO secrets SELECT /*+ REPARTITION(1), PLANTED('planted-hint') */ id, name -- planted-remark
FROM parquet.`{signed}` /* planted-note */ WHERE name LIKE 'planted-like%';

INSERT INTO secrets SELECT id, name FROM parquet.`{authority}/data/in` WHERE id IN (987654321, 987654322);

INSERT INTO secrets SELECT id, name FROM delta.`{delta}` WHERE name RLIKE 'planted-pattern';

INSERT INTO delta.`{delta}`
SELECT id, from_json(name, 'a STRING')['a'] AS name FROM secret_view;

UPDATE delta.`{delta}` SET name = 'planted-update' WHERE id = 987654321;

CREATE TABLE secret_delta (id BIGINT, name STRING COMMENT 'planted-delta-column') USING delta
COMMENT 'planted-delta-comment' TBLPROPERTIES ('my.secret' = 'planted-delta-property');

MERGE INTO secret_delta t USING delta.`{delta}` s ON t.id = s.id AND s.name > 'planted-merge'
WHEN MATCHED AND s.name = 'planted-clause' THEN UPDATE SET name = concat(s.name, 'planted-set')
WHEN NOT MATCHED THEN INSERT (id, name) VALUES (987654321, 'planted-insert');

INSERT OVERWRITE TABLE secret_delta
SELECT id, regexp_replace(name, 'planted-old', 'planted-new') AS name FROM secret_files
WHERE name IN (SELECT n FROM VALUES ('planted-row') AS v(n));

CREATE TABLE secret_parts USING parquet PARTITIONED BY (day)
AS SELECT id, 'planted-partition' AS day FROM secrets;

INSERT OVERWRITE secret_parts PARTITION (day = 'planted-partition') SELECT id FROM secrets;

CREATE TABLE secret_copy USING delta OPTIONS (password 'planted-ctas-option') LOCATION '{folder}/secret_copy'
TBLPROPERTIES ('p' = 'planted-ctas-property') AS SELECT id FROM secret_view;

ALTER TABLE secrets SET TBLPROPERTIES ('later' = 'planted-later');

COMMENT ON TABLE secrets IS 'planted-comment-on'
