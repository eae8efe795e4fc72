#include "widgets/panels/log_panel.h"

#include <QEvent>
#include <QScrollBar>
#include <QTextBlock>
#include <QTime>

#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

constexpr int kLines = 5000;
constexpr qsizetype kTimeLength = 8;  // "21:04:59"

QString wordOf(LogPanel::Level level) {
    switch (level) {
        case LogPanel::Level::Info:
            return QStringLiteral("info");
        case LogPanel::Level::Warning:
            return QStringLiteral("warning");
        case LogPanel::Level::Error:
            return QStringLiteral("error");
    }
    return {};
}

Meaning meaningOf(LogPanel::Level level) {
    switch (level) {
        case LogPanel::Level::Warning:
            return Meaning::Warning;
        case LogPanel::Level::Error:
            return Meaning::Error;
        case LogPanel::Level::Info:
            break;
    }
    return Meaning::Muted;
}

// Colours are the palette's, so a line is coloured when it comes and again when the palette changes.
void colour(const QTextBlock& block, const QPalette& palette) {
    const auto level = static_cast<LogPanel::Level>(block.userState());
    const auto paint = [&block](qsizetype from, qsizetype length, const QColor& color, bool bold) {
        QTextCursor cursor(block);
        cursor.setPosition(block.position() + static_cast<int>(from));
        cursor.setPosition(block.position() + static_cast<int>(from + length), QTextCursor::KeepAnchor);
        QTextCharFormat format;
        format.setForeground(color);
        if (bold) format.setFontWeight(QFont::DemiBold);
        cursor.setCharFormat(format);
    };
    const qsizetype word = wordOf(level).size(), length = block.length() - 1;
    const qsizetype sentence = kTimeLength + 2 + word;
    paint(0, kTimeLength, semanticColor(palette, Meaning::Muted), false);
    paint(kTimeLength, sentence - kTimeLength, semanticColor(palette, meaningOf(level)),
          level != LogPanel::Level::Info);
    paint(sentence, length - sentence, palette.color(QPalette::Text), false);
}

}  // namespace

LogPanel::LogPanel(QWidget* parent) : QPlainTextEdit(parent) {
    setAccessibleName(QStringLiteral("Log"));
    setPlaceholderText(QStringLiteral("What happens is written here."));
    setReadOnly(true);
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    setUndoRedoEnabled(false);
    setMaximumBlockCount(kLines);
    setTabChangesFocus(true);
}

void LogPanel::add(Level level, const QString& sentence) {
    QScrollBar* bar = verticalScrollBar();
    const bool follow = bar->value() >= bar->maximum();
    const int before = bar->value();
    const bool full = blockCount() >= kLines;
    // One event, one line: the limit and the level words count on it.
    const QString line = QString(QTime::currentTime().toString(QStringLiteral("HH:mm:ss")) % QStringLiteral("  ") %
                                 wordOf(level) % QStringLiteral("  ") % sentence.simplified());
    QTextCursor cursor(document());
    cursor.movePosition(QTextCursor::End);
    if (!document()->isEmpty()) cursor.insertBlock();
    cursor.insertText(line);
    QTextBlock block = document()->lastBlock();
    block.setUserState(static_cast<int>(level));
    colour(block, palette());
    // In a full log the oldest line goes, so that what the reader looks at moves up by one.
    bar->setValue(follow ? bar->maximum() : before - (full ? 1 : 0));
    Q_EMIT added(level, sentence);
}

void LogPanel::changeEvent(QEvent* event) {
    QPlainTextEdit::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        if (block.userState() >= 0) colour(block, palette());
    }
}

}  // namespace lpes::widgets
