#pragma once

#include <QObject>
#include <QTimer>
#include <filesystem>

namespace lpes::app {

class Document;

/// Keeps the curve that is drawn by hand on disk, one file per model, so that neither closing nor a crash loses it:
/// written a second after the last change, taken up when a session opens that model again. A profile that was opened
/// and not changed stands in its own file and is not kept. GUI thread only.
class DraftKeeper : public QObject {
    Q_OBJECT
  public:
    /// `folder` empty: nothing is kept.
    DraftKeeper(Document& document, std::filesystem::path folder, QObject* parent);
    /// Writes what is not written yet.
    ~DraftKeeper() override;

    /// Takes the curve that is kept for the document's model into the document; true when there was one.
    bool restore();
    void flush();

  Q_SIGNALS:
    /// Once: the curve cannot be kept, with the reason.
    void failed(const QString& sentence);

  private:
    [[nodiscard]] std::filesystem::path file() const;

    Document& m_document;
    const std::filesystem::path m_folder;
    QTimer m_delay;
    bool m_dirty = false, m_told = false;
};

}  // namespace lpes::app
