-- Schema 1. Executed inside one transaction, which also sets user_version. core/store/FORMAT.md describes every column.
-- A later version is a further file (schema_v2.sql) that alters these tables; this one never changes again.

PRAGMA application_id = 0x4C504553;

CREATE TABLE models (
    id                    INTEGER PRIMARY KEY,
    fingerprint           TEXT    NOT NULL,
    name                  TEXT    NOT NULL,
    path                  TEXT    NOT NULL,
    architecture          TEXT    NOT NULL,
    format                TEXT    NOT NULL,
    layers                INTEGER NOT NULL,
    head_dim              INTEGER NOT NULL,
    context_length        INTEGER NOT NULL,
    parameters            INTEGER NOT NULL,
    config_json           TEXT    NOT NULL,
    tokenizer_fingerprint TEXT    NOT NULL,
    weights_hash          TEXT    NOT NULL,
    UNIQUE (fingerprint, weights_hash, tokenizer_fingerprint, path)
) STRICT;

CREATE TABLE datasets (
    id            INTEGER PRIMARY KEY,
    hash          TEXT    NOT NULL,
    task          TEXT    NOT NULL,
    template_hash TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    items         INTEGER NOT NULL,
    spec_json     TEXT    NOT NULL,
    UNIQUE (hash, task, template_hash)
) STRICT;

-- AUTOINCREMENT: the number of a run is printed, noted down and written into profiles, so it is never used twice.
CREATE TABLE runs (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    kind               TEXT    NOT NULL,
    state              TEXT    NOT NULL,
    model_id           INTEGER REFERENCES models (id),
    dataset_id         INTEGER REFERENCES datasets (id),
    label              TEXT    NOT NULL,
    settings_json      TEXT    NOT NULL,
    seed               TEXT    NOT NULL,
    tool_version       TEXT    NOT NULL,
    libtorch_version   TEXT    NOT NULL,
    device             TEXT    NOT NULL,
    device_description TEXT    NOT NULL,
    compute_type       TEXT    NOT NULL,
    threads_per_worker INTEGER NOT NULL,
    workers            INTEGER NOT NULL,
    batch_size         INTEGER NOT NULL,
    host               TEXT    NOT NULL,
    pid                INTEGER NOT NULL,
    created_ms         INTEGER NOT NULL,
    ended_ms           INTEGER,
    heartbeat_ms       INTEGER NOT NULL,
    elapsed_seconds    REAL,
    end_reason         TEXT    NOT NULL,
    error              TEXT    NOT NULL,
    result_json        TEXT    NOT NULL
) STRICT;
CREATE INDEX runs_by_kind ON runs (kind);
CREATE INDEX runs_by_state ON runs (state);

CREATE TABLE split_items (
    run_id  INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    split   TEXT    NOT NULL,
    ord     INTEGER NOT NULL,
    item_id TEXT    NOT NULL,
    PRIMARY KEY (run_id, split, ord),
    UNIQUE (run_id, split, item_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE variants (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name        TEXT    NOT NULL,
    scales_json TEXT    NOT NULL,
    scales_key  TEXT    NOT NULL,
    UNIQUE (run_id, scales_key)
) STRICT;

CREATE TABLE outcomes (
    variant_id       INTEGER NOT NULL REFERENCES variants (id) ON DELETE CASCADE,
    split            TEXT    NOT NULL,
    item_id          TEXT    NOT NULL,
    position         INTEGER NOT NULL,
    gold_index       INTEGER NOT NULL,
    gold_token       INTEGER NOT NULL,
    prompt_tokens    INTEGER NOT NULL,
    skipped_too_long INTEGER NOT NULL,
    correct          INTEGER NOT NULL,
    nll              REAL,
    generated        TEXT    NOT NULL,
    PRIMARY KEY (variant_id, split, item_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE candidates (
    run_id               INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    generation           INTEGER NOT NULL,
    idx                  INTEGER NOT NULL,
    variant_id           INTEGER REFERENCES variants (id) ON DELETE CASCADE,
    points_json          TEXT    NOT NULL,
    state                TEXT    NOT NULL,
    fitness              REAL,
    by_position_json     TEXT    NOT NULL,
    reason               TEXT    NOT NULL,
    duplicate_generation INTEGER,
    duplicate_idx        INTEGER,
    PRIMARY KEY (run_id, generation, idx)
) STRICT, WITHOUT ROWID;
-- NULL (a failed candidate) sorts below every number, so the first entry of a run is its best candidate.
CREATE INDEX candidates_best ON candidates (run_id, fitness DESC, generation, idx);
CREATE INDEX candidates_by_variant ON candidates (variant_id);

CREATE TABLE generations (
    run_id          INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    generation      INTEGER NOT NULL,
    best            REAL,
    mean            REAL,
    worst           REAL,
    stddev          REAL,
    diversity       REAL,
    evaluations     INTEGER NOT NULL,
    population_json TEXT    NOT NULL,
    PRIMARY KEY (run_id, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE positions (
    variant_id       INTEGER NOT NULL REFERENCES variants (id) ON DELETE CASCADE,
    split            TEXT    NOT NULL,
    position         INTEGER NOT NULL,
    label            TEXT    NOT NULL,
    gold_index       INTEGER NOT NULL,
    mean_token_index REAL,
    n                INTEGER NOT NULL,
    correct          INTEGER NOT NULL,
    accuracy         REAL,
    ci_low           REAL,
    ci_high          REAL,
    answer_nll       REAL,
    PRIMARY KEY (variant_id, split, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE attention (
    variant_id     INTEGER NOT NULL REFERENCES variants (id) ON DELETE CASCADE,
    position       INTEGER NOT NULL,
    layer          INTEGER NOT NULL,
    span           INTEGER NOT NULL,
    label          TEXT    NOT NULL,
    share          REAL,
    mean_per_token REAL,
    PRIMARY KEY (variant_id, position, layer, span)
) STRICT, WITHOUT ROWID;

CREATE TABLE deviations (
    variant_id INTEGER NOT NULL REFERENCES variants (id) ON DELETE CASCADE,
    layer      INTEGER NOT NULL,
    deviation  REAL,
    ci_low     REAL,
    ci_high    REAL,
    rsa        REAL,
    cosine     REAL,
    prompts    INTEGER NOT NULL,
    PRIMARY KEY (variant_id, layer)
) STRICT, WITHOUT ROWID;

CREATE TABLE profiles (
    id         INTEGER PRIMARY KEY,
    run_id     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    created_ms INTEGER NOT NULL,
    json       TEXT    NOT NULL
) STRICT;
CREATE INDEX profiles_by_run ON profiles (run_id);
