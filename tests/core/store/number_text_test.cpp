#include "core/store/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"

namespace lpes::store {

TEST(NumberText, EveryDoubleComesBack) {
    RandomStream random(11, kStreamTests);
    std::vector<double> numbers = {0.1, 1.0 / 3.0, 1e-310, 5e-324, 1.7976931348623157e308, -2.5, 1e22, 123456789.125};
    for (int i = 0; i < 2000; ++i)
        numbers.push_back(std::ldexp(random.uniform(-1, 1), static_cast<int>(random.below(600)) - 300));
    EXPECT_EQ(numbersFromText(numbersToText(numbers)), numbers);
}

TEST(NumberText, EqualNumbersHaveEqualText) {
    EXPECT_EQ(numbersToText(std::vector<double>{1.15, 0.85 + 0.0, 1.0, -0.0}), "[1.15,0.85,1,0]");
    EXPECT_NE(numbersToText(std::vector<double>{0.1 + 0.2}), numbersToText(std::vector<double>{0.3}));
    EXPECT_EQ(numbersToText({}), "[]");
    EXPECT_TRUE(numbersFromText("[]")->empty());
}

TEST(NumberText, WhatIsNotFiniteIsValidJsonToo) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::string text = numbersToText(std::vector<double>{std::nan(""), infinity, -infinity});
    EXPECT_EQ(text, "[null,1e999,-1e999]");
    const auto back = numbersFromText(text);
    ASSERT_TRUE(back && back->size() == 3);
    EXPECT_TRUE(std::isnan((*back)[0]));
    EXPECT_EQ((*back)[1], infinity);
    EXPECT_EQ((*back)[2], -infinity);
}

TEST(NumberText, ForeignTextIsNothing) {
    for (const char* text :
         {"", "[", "1,2", "[1,]", "[,1]", "[1 2]", "[a]", "[1,2", "[nan]", "[inf]", "[[1]]", "[1e400]"}) {
        EXPECT_FALSE(numbersFromText(text)) << text;
    }
}

}  // namespace lpes::store
