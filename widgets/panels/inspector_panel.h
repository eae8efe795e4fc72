#pragma once

#include <QString>
#include <QWidget>
#include <memory>
#include <vector>

namespace lpes::widgets {

/// A model as the inspector shows it. A value; texts are ready to be read.
struct ModelFacts {
    QString name, path;
    struct Fact {
        QString name, value, origin;  ///< origin: "config.json rope_theta", "llama.rope.freq_base", "computed"
    };
    struct Group {
        QString title;  ///< "Model", "RoPE", "Tokenizer", "Memory"
        std::vector<Fact> facts;
    };
    std::vector<Group> groups;
    struct Layer {
        int layer = 0;
        double scale = 1.0;                                        ///< positions are divided by it
        double effectiveContext = 0.0;                             ///< tokens: scale × trained context
        double shortestWavelength = 0.0, longestWavelength = 0.0;  ///< tokens, after scaling
        QString origin;                                            ///< "unchanged", "curve"
    };
    std::vector<Layer> layers;
    std::vector<QString> warnings;
    QString applied;  ///< "applied, verified (largest error 1e-7)"; empty when not checked yet
};

/// What the model says of itself, with the effective RoPE of each layer and where every value comes from. Cells can be
/// selected and copied as tab-separated text. GUI thread only.
class InspectorPanel : public QWidget {
    Q_OBJECT
  public:
    explicit InspectorPanel(QWidget* parent = nullptr);
    ~InspectorPanel() override;

    void setFacts(const ModelFacts& facts);
    /// Only the layers' table and the applied line changed: selection and scrolling stay.
    void setLayers(const std::vector<ModelFacts::Layer>& layers, const QString& applied);
    void setEmpty(const QString& why);
    void setError(const QString& sentence);

  protected:
    void changeEvent(QEvent* event) override;

  private:
    struct Impl;
    std::unique_ptr<Impl> m;
};

}  // namespace lpes::widgets
