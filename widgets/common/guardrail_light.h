#pragma once

#include <QIcon>
#include <QPalette>
#include <QWidget>

class QLabel;

namespace lpes::widgets {

/// What a method or profile does to short contexts, as the core judged it. A value.
struct GuardrailFacts {
    QString light;   ///< "green", "amber", "red"; empty: was not measured
    QString reason;  ///< one sentence
    QString detail;  ///< perplexity and exams, a line each
    friend bool operator==(const GuardrailFacts&, const GuardrailFacts&) = default;
};

/// A dot in the colour of the light; a word always stands beside it. Null for no light.
[[nodiscard]] QIcon guardrailDot(const QPalette& palette, const QString& light, int logicalSize);

/// The light with its word and its reason in one line; the figures are its tool tip. Hidden where nothing was measured.
/// GUI thread only.
class GuardrailLight : public QWidget {
    Q_OBJECT
  public:
    explicit GuardrailLight(QWidget* parent = nullptr);
    void setFacts(const GuardrailFacts& facts);
    [[nodiscard]] const GuardrailFacts& facts() const { return m_facts; }

  protected:
    void changeEvent(QEvent* event) override;

  private:
    void paintDot();

    GuardrailFacts m_facts;
    QLabel *m_dot, *m_words;
};

}  // namespace lpes::widgets
