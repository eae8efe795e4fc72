// write_tiny_model FOLDER: a small random Llama with a tokenizer, as a Hugging Face folder. For running the program
// where no real model is at hand.
#include <cstdio>
#include <exception>

#include "tests/support/tiny_model.h"

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: write_tiny_model FOLDER\n"), 2;
    lpes::test::TinyModelSpec spec;
    spec.numLayers = 4;
    spec.hiddenSize = 256;
    spec.numHeads = 4;
    spec.numKvHeads = 2;
    spec.headDim = 64;
    spec.intermediateSize = 512;
    spec.contextLength = 4096;
    spec.vocabSize = 900;
    try {
        lpes::test::HuggingFaceOptions options;
        options.type = lpes::model::StorageType::BF16;
        lpes::test::writeHuggingFaceFolder(lpes::test::makeTinyModel(spec), argv[1], options);
    } catch (const std::exception& error) {
        return std::fprintf(stderr, "write_tiny_model: %s\n", error.what()), 1;
    }
    return 0;
}
