#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <cstdint>
#include <utility>
#include <vector>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace lpes::widgets {

/// An item's exact prompt with what stands where. A value.
struct PromptFacts {
    QString data;  ///< name of the data set
    QString item;  ///< its id
    std::int64_t number = 0, items = 0;
    QString position;
    QStringList positions;
    QString text;                            ///< what the model is given
    std::vector<std::pair<int, int>> spans;  ///< of the evidence, [begin, end) in UTF-16 units of the text
    QString evidenceTokens;                  ///< "96–103"
    QString answer;                          ///< the continuation that is scored
    QStringList references, choices;
    QString rule;  ///< how a generated answer is held against the references
    std::int64_t promptTokens = 0, answerTokens = 0, context = 0;
    bool fits = true;
    QString note;  ///< what the benchmark's own rule left out; or empty
    QString templateText, templateHash;
};

/// The prompt of an item at a position: evidence underlined on a ground of its own, tokens counted, the scored answer
/// below. Asks for another one by its number, its id or its position. GUI thread only.
class PromptView : public QWidget {
    Q_OBJECT
  public:
    explicit PromptView(QWidget* parent = nullptr);

    /// Whose items are shown: names of forms.
    void setSources(const QStringList& names);
    [[nodiscard]] int source() const;
    void setSource(int index);
    void setFacts(const PromptFacts& facts);
    [[nodiscard]] const PromptFacts& facts() const { return m_facts; }
    /// The next prompt is being made; the one before stays in sight.
    void setBusy(bool busy);
    /// No prompt: the reason in one sentence. The choice of item and position stays possible.
    void setError(const QString& sentence);
    /// No prompt, and nothing to choose from.
    void setEmpty(const QString& why);
    [[nodiscard]] QString message() const;
    void focusItem();

  Q_SIGNALS:
    void sourceChosen(int index);
    void numberChosen(qint64 number);
    void idChosen(const QString& id);
    void positionChosen(const QString& position);
    /// It came into sight.
    void shown();

  protected:
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

  private:
    QWidget* makeChoices();
    QLabel* fact(QFormLayout& layout, const QString& name);
    void say(const QString& sentence, bool wrong);
    void markEvidence();
    void goToEvidence();
    void setChoosable(bool choosable);

    PromptFacts m_facts;
    QComboBox *m_source, *m_position;
    QSpinBox* m_number;
    QLineEdit* m_id;
    QLabel *m_message, *m_counts;
    QPlainTextEdit* m_text;
    QLabel *m_answer, *m_references, *m_choices, *m_evidence, *m_template;
    QFormLayout* m_details;
    QPushButton *m_copy, *m_jump;
    bool m_wrong = false;
};

}  // namespace lpes::widgets
