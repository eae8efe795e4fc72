#include "app/controllers/task_forms.h"

#include <QFileDialog>
#include <QFileInfo>

#include "app/controllers/why_not.h"
#include "app/settings.h"
#include "core/tasks/l_eval.h"
#include "core/tasks/position.h"
#include "core/tasks/score_kind.h"
#include "core/tasks/zero_scrolls.h"
#include "core/text/chat_preset.h"

namespace lpes::app {

using widgets::TaskFields;
using widgets::TaskForm;
using widgets::TaskTraits;

namespace {

QStringList taskNames() {
    QStringList names{QStringLiteral("kv"),   QStringLiteral("mdqa"),  QStringLiteral("mdqa-random"),
                      QStringLiteral("niah"), QStringLiteral("jsonl"), QStringLiteral("mmlu"),
                      QStringLiteral("ceval")};
    for (const std::string& name : tasks::lEvalNames())
        names << QStringLiteral("leval:") + QString::fromStdString(name);
    for (const std::string& name : tasks::zeroScrollsNames())
        names << QStringLiteral("zeroscrolls:") + QString::fromStdString(name);
    return names;
}

QString check(TaskFields::Field field, const QString& words) {
    const std::string text = words.toStdString();
    switch (field) {
        case TaskFields::Task:
            return taskNames().contains(words)
                       ? QString()
                       : QObject::tr("there is no task “%1”; choose one of the list").arg(words);
        case TaskFields::Positions:
            return whyNot(tasks::parsePositions(text));
        case TaskFields::Chat:
            return whyNot(text::findChatPreset(text));
        case TaskFields::Score:
            return whyNot(tasks::parseScoreKind(text));
        default:
            return {};
    }
}

void browse(TaskFields& fields, QWidget& panel, bool folder) {
    Settings settings;
    // Opens without blocking: nothing of the window waits for the choice.
    auto* dialog = new QFileDialog(panel.window(), folder ? QObject::tr("Folder of the data") : QObject::tr("Data"),
                                   settings.folder(QStringLiteral("data")),
                                   QObject::tr("Data (*.jsonl *.json *.gz *.tar *.zip *.txt);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    if (folder) dialog->setOption(QFileDialog::ShowDirsOnly);
    QObject::connect(dialog, &QFileDialog::fileSelected, &fields, [&fields](const QString& path) {
        Settings().setFolder(QStringLiteral("data"), QFileInfo(path).path());
        fields.setData(path);
    });
    dialog->open();
}

template <class T>
std::optional<T> unlessZero(T value) {
    return value > 0 ? std::optional<T>(value) : std::nullopt;
}

std::optional<std::string> unlessEmpty(const QString& words) {
    return words.isEmpty() ? std::nullopt : std::optional(words.toStdString());
}

QString text(const std::optional<std::string>& words) {
    return QString::fromStdString(words.value_or(""));
}

}  // namespace

void offerTasks(TaskFields& fields, QWidget& panel, const QStringList& scores) {
    const QString presets = QString::fromStdString(text::chatPresetNames());
    fields.setChoices(taskNames(), QStringList{QString()} + presets.split(QStringLiteral(", ")), scores);
    fields.setCheck(check);
    QObject::connect(&fields, &TaskFields::browseRequested, &fields,
                     [&fields, &panel](bool folder) { browse(fields, panel, folder); });
}

TaskForm taskFormOf(const studies::TaskSpec& spec) {
    TaskForm form;
    form.task = QString::fromStdString(spec.task);
    form.data = text(spec.data);
    form.positions = text(spec.positions);
    form.pairs = spec.pairs.value_or(spec.data ? 0 : form.pairs);
    form.documents = spec.docs.value_or(form.documents);
    form.shots = spec.shots.value_or(form.shots);
    form.length = spec.niah.length;
    form.chat = text(spec.chat);
    return form;
}

studies::TaskSpec taskSpecOf(const TaskForm& form, const studies::TaskSpec& study) {
    studies::TaskSpec spec;
    const bool same = form.task.toStdString() == study.task;
    if (same) spec = study;
    spec.task = form.task.toStdString();
    spec.data = unlessEmpty(form.data);
    // A file has its own keys.
    if (spec.data) spec.keys.reset();
    const TaskTraits traits = widgets::traitsOf(form.task, spec.data.has_value());
    using Size = TaskTraits::Size;
    spec.itemSeed = traits.seeded ? study.itemSeed : std::nullopt;
    spec.positions = traits.moves ? unlessEmpty(form.positions) : std::nullopt;
    spec.pairs = traits.size == Size::Pairs ? unlessZero(form.pairs) : std::nullopt;
    spec.docs = traits.size == Size::Documents ? unlessZero(form.documents) : std::nullopt;
    spec.shots = traits.size == Size::Shots ? std::optional(form.shots) : std::nullopt;
    if (traits.size == Size::Length) {
        spec.niah.length = form.length;
        if (spec.data) spec.niah.haystack = "essay";
        if (!spec.data && spec.niah.haystack == "essay") spec.niah.haystack = tasks::NiahSpec{}.haystack;
    }
    spec.chat = studies::namedPreset(unlessEmpty(form.chat));
    return spec;
}

void markTask(const studies::TaskSpec& before, const studies::TaskSpec& after,
              std::map<std::string, std::string>& origins) {
    const nlohmann::json was = toJson(before), now = toJson(after);
    for (const auto& [key, value] : now.items()) {
        if (was.at(key) != value) origins[key] = "window";
    }
}

bool requireData(TaskFields& fields) {
    const QString data = fields.form().data;
    if (data.isEmpty() || QFileInfo::exists(data)) return true;
    fields.refuse(TaskFields::Data,
                  QObject::tr("There is no file or folder “%1”; correct its path or look for it.").arg(data));
    return false;
}

}  // namespace lpes::app
