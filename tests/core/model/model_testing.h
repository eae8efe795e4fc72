#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/model/formats/weight_source.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {

/// Opens a model that must open.
inline std::shared_ptr<const model::WeightSource> opened(const std::filesystem::path& path) {
    auto source = model::openWeights(path);
    if (!source) throw std::runtime_error(source.error().text());
    return *source;
}

/// The failure of opening a model that must not open.
inline Error refusal(const std::filesystem::path& path) {
    const auto source = model::openWeights(path);
    if (source) {
        ADD_FAILURE() << path << " was opened";
        return {};
    }
    return source.error();
}

/// The failure of a reader that must not accept what it was given.
template <class T>
Error refusalOf(const Result<T>& read) {
    if (!read) return read.error();
    ADD_FAILURE() << "accepted";
    return {};
}

/// A tensor in float32.
inline std::vector<float> floats(const model::WeightSource& source, const std::string& name) {
    std::int64_t count = 1;
    for (const std::int64_t dim : source.find(name)->shape) count *= dim;
    std::vector<float> values(static_cast<std::size_t>(count));
    const auto done = source.read(name, model::ComputeType::Float32, std::as_writable_bytes(std::span(values)));
    if (!done) throw std::runtime_error(done.error().text());
    return values;
}

/// Every weight of `tiny` is in the source, and nothing else.
inline void expectSameWeights(const model::WeightSource& source, const TinyModel& tiny) {
    EXPECT_EQ(source.names().size(), tiny.tensors.size());
    for (const auto& [name, tensor] : tiny.tensors) {
        ASSERT_NE(source.find(name), nullptr) << name;
        EXPECT_EQ(source.find(name)->shape, tensor.shape) << name;
        EXPECT_EQ(floats(source, name), tensor.values) << name;
    }
}

/// A refusal names what, where and why in one sentence.
#define EXPECT_REFUSED(error, errorCode, ...)                        \
    do {                                                             \
        const ::lpes::Error refused = (error);                       \
        EXPECT_EQ(refused.code, errorCode) << refused.text();        \
        EXPECT_THAT(refused.message, ::testing::AllOf(__VA_ARGS__)); \
        EXPECT_EQ(refused.message.find('\n'), std::string::npos);    \
    } while (false)

}  // namespace lpes::test
