-- Slopes of the answers' likelihood over the scales: what searches that descend measure, and what sensitivity maps show.
CREATE TABLE slopes (
    variant_id INTEGER NOT NULL REFERENCES variants (id) ON DELETE CASCADE,
    split      TEXT    NOT NULL,
    item_id    TEXT    NOT NULL,
    position   INTEGER NOT NULL,
    nll        REAL,
    slope_json TEXT    NOT NULL,
    PRIMARY KEY (variant_id, split, item_id, position)
) STRICT, WITHOUT ROWID;
