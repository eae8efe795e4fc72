-- Searches with several objectives: what each candidate reached, and how far the Pareto front had come.
--
-- objectives_json  one number for each objective of the run, larger is better; [] where there is one fitness
-- front_size       candidates so far that no other dominates; 0 where there is one fitness
-- hypervolume      of that front over the worst value of each objective in the first generation; NULL: none
ALTER TABLE candidates ADD COLUMN objectives_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE generations ADD COLUMN front_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE generations ADD COLUMN hypervolume REAL;
