-- Scores between 0 and 1, and both ways of scoring the same answer beside each other.
--
-- score            what the run's rule gave the item, 0 to 1; until version 1 every rule gave 0 or 1
-- strict           every answer token was the likeliest under teacher forcing; NULL: not known
-- generated_score  what the benchmark's rule gave the generated text; NULL: no text was generated
ALTER TABLE outcomes ADD COLUMN score REAL;
ALTER TABLE outcomes ADD COLUMN strict INTEGER;
ALTER TABLE outcomes ADD COLUMN generated_score REAL;
UPDATE outcomes SET score = correct;
