#pragma once

#include <QStringList>
#include <QWidget>
#include <vector>

class QLabel;
class QLineEdit;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace lpes::widgets {

/// The methods of a comparison, one spelling in each row, in an order that can be changed: the first is what the others
/// are compared with, and the list says so. A spelling that is none is refused at its field with the reason below it,
/// and so is a method that stands there twice. Alt+Up and Alt+Down move the row that is edited; a text with semicolons
/// becomes several rows. GUI thread only.
class MethodListEdit : public QWidget {
    Q_OBJECT
  public:
    explicit MethodListEdit(QWidget* parent = nullptr);

    void setMethods(const QStringList& methods);
    [[nodiscard]] QStringList methods() const;
    /// One more at the end; takes the place of an empty row where there is one.
    void addMethod(const QString& spelling);
    /// Locked, the spellings can be read and copied but not changed.
    void setLocked(bool locked);
    /// Why the list is none as it stands; empty when it is one.
    [[nodiscard]] QString problem() const;

  Q_SIGNALS:
    void changed();
    /// Wishes of the menu that need a file.
    void currentCurveRequested();
    void profileFileRequested();
    void routerFileRequested();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    struct Row {
        QWidget* frame;
        QLabel *number, *why;
        QLineEdit* field;
        QToolButton *up, *down, *remove;
        QString problem;
    };
    void makeMenu();
    void addRow(const QString& spelling);
    void removeRow(const QWidget* frame);
    void moveRow(const QWidget* frame, int by);
    void splitRow(const QWidget* frame);
    [[nodiscard]] std::size_t indexOf(const QWidget* frame) const;
    /// Numbers, buttons and reasons of all rows.
    void check();

    QVBoxLayout* m_rowsLayout;
    QPushButton* m_add;
    std::vector<Row> m_rows;
    bool m_locked = false, m_filling = false;
};

}  // namespace lpes::widgets
