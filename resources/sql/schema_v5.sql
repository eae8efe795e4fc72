-- Trainings: the loss curve, a row for each optimiser step.
--
-- loss       lm_loss + coefficient · aux_loss, mean over the step's sequences
-- lm_loss    nats per token
-- grad_norm  before it is shortened
-- tokens     of the step's sequences
CREATE TABLE training_steps (
    run_id    INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step      INTEGER NOT NULL,
    loss      REAL,
    lm_loss   REAL,
    aux_loss  REAL,
    grad_norm REAL,
    tokens    INTEGER NOT NULL,
    PRIMARY KEY (run_id, step)
) STRICT, WITHOUT ROWID;
