#include "app/dialogs/figure_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace lpes::app {

namespace {

constexpr const char* kEndings[] = {"pdf", "svg", "png", "csv"};

}  // namespace

FigureDialog::FigureDialog(const QString& name, const QString& base, QWidget* parent)
    : QDialog(parent),
      m_base(new QLineEdit(base, this)),
      m_width(new QComboBox(this)),
      m_theme(new QComboBox(this)),
      m_dpi(new QSpinBox(this)),
      m_problem(new QLabel(this)) {
    setWindowTitle(tr("Export: %1").arg(name));
    setAttribute(Qt::WA_DeleteOnClose);
    setModal(true);
    m_base->setMinimumWidth(360);
    m_base->setAccessibleName(tr("File name without ending"));
    auto* browse = new QPushButton(tr("Browse…"), this);
    connect(browse, &QPushButton::clicked, this, [this] {
        auto* files = new QFileDialog(this, tr("Export as"), m_base->text());
        files->setAttribute(Qt::WA_DeleteOnClose);
        files->setAcceptMode(QFileDialog::AcceptSave);
        files->setOption(QFileDialog::DontConfirmOverwrite);
        connect(files, &QFileDialog::fileSelected, this, [this](const QString& path) {
            const QFileInfo info(path);
            const bool known =
                QStringList{QStringLiteral("pdf"), QStringLiteral("svg"), QStringLiteral("png"), QStringLiteral("csv")}
                    .contains(info.suffix().toLower());
            m_base->setText(known ? info.path() + QLatin1Char('/') + info.completeBaseName() : path);
        });
        files->open();
    });
    auto* place = new QHBoxLayout;
    place->addWidget(m_base, 1);
    place->addWidget(browse);
    auto* formats = new QHBoxLayout;
    for (std::size_t i = 0; i < std::size(kEndings); ++i) {
        m_formats[i] = new QCheckBox(QString::fromLatin1(kEndings[i]).toUpper(), this);
        m_formats[i]->setChecked(true);
        formats->addWidget(m_formats[i]);
        connect(m_formats[i], &QCheckBox::toggled, this, &FigureDialog::check);
    }
    formats->addStretch();
    m_width->addItem(tr("85 mm (one column)"), 85.0);
    m_width->addItem(tr("120 mm"), 120.0);
    m_width->addItem(tr("170 mm (two columns)"), 170.0);
    m_width->setCurrentIndex(2);
    m_dpi->setRange(50, 1200);
    m_dpi->setValue(300);
    m_dpi->setSuffix(tr(" dpi"));
    m_theme->addItem(tr("Light"));
    m_theme->addItem(tr("Dark"));
    m_problem->setWordWrap(true);
    auto* form = new QFormLayout;
    form->addRow(tr("&File name"), place);
    form->addRow(tr("Formats"), formats);
    form->addRow(tr("&Width"), m_width);
    form->addRow(tr("&Resolution (PNG)"), m_dpi);
    form->addRow(tr("&Theme"), m_theme);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_ok = buttons->addButton(tr("Export"), QDialogButtonBox::AcceptRole);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        Q_EMIT figureChosen(options());
        accept();
    });
    connect(m_base, &QLineEdit::textChanged, this, &FigureDialog::check);
    auto* column = new QVBoxLayout(this);
    column->addLayout(form);
    column->addWidget(m_problem);
    column->addWidget(buttons);
    check();
}

FigureOptions FigureDialog::options() const {
    FigureOptions options;
    for (std::size_t i = 0; i < std::size(kEndings); ++i) {
        if (m_formats[i]->isChecked()) {
            options.files.push_back(m_base->text() + QLatin1Char('.') + QLatin1String(kEndings[i]));
        }
    }
    options.widthMm = m_width->currentData().toDouble();
    options.dpi = m_dpi->value();
    options.dark = m_theme->currentIndex() == 1;
    return options;
}

void FigureDialog::check() {
    const FigureOptions now = options();
    const QFileInfo base(m_base->text());
    QString problem;
    QStringList replaced;
    for (const QString& file : now.files) {
        if (QFileInfo::exists(file)) replaced.push_back(QFileInfo(file).fileName());
    }
    bool possible = true;
    if (now.files.isEmpty()) {
        problem = tr("Choose at least one format.");
        possible = false;
    } else if (base.fileName().isEmpty()) {
        problem = tr("Give the file a name.");
        possible = false;
    } else if (!QFileInfo(base.absolutePath()).isWritable()) {
        problem = tr("The folder %1 cannot be written to; choose another one.").arg(base.absolutePath());
        possible = false;
    } else if (!replaced.isEmpty()) {
        problem = tr("Will be replaced: %1").arg(replaced.join(QStringLiteral(", ")));
    }
    m_problem->setText(problem);
    m_ok->setEnabled(possible);
}

}  // namespace lpes::app
