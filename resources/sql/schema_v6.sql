-- Models whose table of tokens is larger than their tokenizer's vocabulary.
--
-- unknown_tokens  tokens of the generated answer that the vocabulary does not have; its text is without them
ALTER TABLE outcomes ADD COLUMN unknown_tokens INTEGER NOT NULL DEFAULT 0;
