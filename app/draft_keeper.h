#pragma once

#include <QObject>
#include <QTimer>
#include <filesystem>

namespace lpes::app {

class Document;

/// Keeps the curve on disk while it is edited, so that neither closing nor a crash loses it: written a second after the
/// last change, taken up when the next session opens a model that it fits. GUI thread only.
class DraftKeeper : public QObject {
    Q_OBJECT
  public:
    DraftKeeper(Document& document, std::filesystem::path file, QObject* parent);
    /// Writes what is not written yet.
    ~DraftKeeper() override;

    /// Takes the kept curve into the document when it fits the model; true when it did. Once per session.
    bool restore();
    void flush();

  Q_SIGNALS:
    /// Once: the curve cannot be kept, with the reason.
    void failed(const QString& sentence);

  private:
    Document& m_document;
    const std::filesystem::path m_file;
    QTimer m_delay;
    bool m_dirty = false, m_restored = false, m_told = false;
};

}  // namespace lpes::app
