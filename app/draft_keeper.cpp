#include "app/draft_keeper.h"

#include <chrono>
#include <system_error>

#include "app/document.h"
#include "core/base/files.h"

namespace lpes::app {

using namespace std::chrono_literals;

DraftKeeper::DraftKeeper(Document& document, std::filesystem::path folder, QObject* parent)
    : QObject(parent), m_document(document), m_folder(std::move(folder)) {
    m_delay.setSingleShot(true);
    m_delay.setInterval(1s);
    connect(&m_delay, &QTimer::timeout, this, &DraftKeeper::flush);
    connect(&document.undoStack(), &QUndoStack::indexChanged, this, [this] {
        if (m_document.undoStack().count() == 0) return;  // a model was opened: nothing was edited
        m_dirty = true;
        m_delay.start();
    });
}

DraftKeeper::~DraftKeeper() {
    flush();
}

std::filesystem::path DraftKeeper::file() const {
    constexpr std::size_t kDigits = 16;
    return m_folder / (m_document.model().fingerprint.substr(0, kDigits) + ".json");
}

bool DraftKeeper::restore() {
    if (m_folder.empty() || !m_document.hasModel()) return false;
    std::error_code error;
    if (!std::filesystem::exists(file(), error)) return false;
    auto kept = exporters::readProfile(file());
    if (!kept) return false;  // a curve that cannot be read is no reason to bother anybody at the start
    if (!m_document.takeProfile(kept->profile, QStringLiteral("curve of the last session"))) return false;
    m_dirty = false;
    return true;
}

void DraftKeeper::flush() {
    m_delay.stop();
    if (!m_dirty) return;
    m_dirty = false;
    if (m_folder.empty() || !m_document.hasModel() || m_document.isOpenedProfile()) return;
    auto profile = m_document.profile();
    if (!profile) return;  // a curve that breaks a rule is kept by its last valid form
    std::error_code error;
    std::filesystem::create_directories(m_folder, error);
    if (auto written = writeFileAtomically(file(), exporters::toJson(*profile)); !written && !m_told) {
        m_told = true;
        Q_EMIT failed(
            tr("the curve cannot be kept between sessions: %1").arg(QString::fromStdString(written.error().text())));
    }
}

}  // namespace lpes::app
