#include "widgets/common/guardrail_light.h"

#include <gmock/gmock.h>

#include <QLabel>

#include "tests/support/qt_environment.h"
#include "tests/widgets/panel_helpers.h"
#include "widgets/common/semantic_colors.h"

using namespace lpes::widgets;

TEST(GuardrailLight, SaysItsWordAndItsReason) {
    GuardrailLight light;
    EXPECT_TRUE(light.isHidden()) << "nothing was measured";
    light.setFacts({QStringLiteral("amber"), QStringLiteral("perplexity rises"), QStringLiteral("10 → 11")});
    EXPECT_FALSE(light.isHidden());
    auto* words = lpes::test::named<QLabel>(light, QStringLiteral("Guardrail: short contexts"));
    EXPECT_EQ(words->text(), QStringLiteral("Guardrail amber: perplexity rises"));
    EXPECT_EQ(words->toolTip(), QStringLiteral("10 → 11"));
    light.setFacts({});
    EXPECT_TRUE(light.isHidden());
}

TEST(GuardrailLight, EachLightHasAColourOfItsOwn) {
    const QPalette palette;
    const auto colour = [&](const char* name) {
        return guardrailDot(palette, QString::fromLatin1(name), 14).pixmap(14, 14).toImage().pixelColor(7, 7);
    };
    EXPECT_NE(colour("green"), colour("amber"));
    EXPECT_NE(colour("amber"), colour("red"));
    for (const char* name : {"green", "amber", "red"})
        EXPECT_GE(contrastRatio(colour(name), palette.color(QPalette::Base)), 3.0) << name;
    EXPECT_TRUE(guardrailDot(palette, {}, 14).isNull());
}
