#include "core/studies/live_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/studies/probe_study.h"

namespace lpes::studies {

struct LiveProbe::Sample {
    int goldIndex = 0;
    model::ProbedPrompt probed;  ///< spans: records, instruction, question; a reference for the first position alone
    analysis::PromptAttention baseline;

    [[nodiscard]] analysis::PromptAttention attention(model::AttentionProbe&& probe, int position) const {
        analysis::PromptAttention out;
        out.position = position;
        out.goldIndex = goldIndex;
        out.shareByLayer = std::move(probe.shareByLayer);
        out.sinkByLayer = std::move(probe.sinkByLayer);
        for (const model::TokenSpan& span : probed.spans) out.tokensPerSpan.push_back(span.end - span.begin);
        return out;
    }
};

namespace {

constexpr const char* kBaselineName = "no profile";
constexpr const char* kCurrentName = "current curve";

analysis::DeviationPlot::Series deviationOf(std::vector<double> deviation) {
    analysis::DeviationPlot::Series series{kCurrentName, analysis::SeriesRole::Current, std::move(deviation), {}, {}};
    series.low.assign(series.deviation.size(), std::numeric_limits<double>::quiet_NaN());
    series.high = series.low;
    return series;
}

}  // namespace

LiveProbe::LiveProbe(const LoadedModel& model, int threads)
    : m_model(model), m_session(model.lm->newSession(threads)) {}

LiveProbe::~LiveProbe() = default;

Result<std::unique_ptr<LiveProbe>> LiveProbe::make(const LoadedModel& model, const TaskSpec& task, int threads,
                                                   std::stop_token stop) {
    constexpr std::int64_t kItemsTried = 20;
    auto prepared = prepareTask(task, kItemsTried, &model.tokenizer(), Purpose::Scored, stop);
    if (!prepared) return fail(prepared.error());
    std::unique_ptr<LiveProbe> probe(new LiveProbe(model, threads));
    probe->m_labels = prepared->labels;
    const auto context = static_cast<std::size_t>(model.config().contextLength);
    const PromptMaker maker(*prepared, model.tokenizer(), model.config().contextLength);
    for (std::int64_t item = 0; item < prepared->benchmark->size(); ++item) {
        probe->m_samples.clear();
        for (std::size_t position = 0; position < prepared->positions.size(); ++position) {
            if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
            auto tokens = maker.tokens(item, static_cast<int>(position));
            if (!tokens) return fail(tokens.error());
            if (tokens->prompt.size() > context) break;
            Sample& sample = probe->m_samples.emplace_back();
            sample.goldIndex = tokens->goldIndex;
            sample.probed.spans = attentionSpans(*tokens);
            sample.probed.prompt = std::move(tokens->prompt);
        }
        if (probe->m_samples.size() < prepared->positions.size()) continue;
        std::size_t tokens = 0;
        for (const Sample& sample : probe->m_samples) tokens += sample.probed.prompt.size();
        probe->m_words =
            fmt::format("{} · {} · item {} · about {} tokens a prompt", model.config().name, prepared->info().name,
                        prepared->benchmark->id(item), tokens / probe->m_samples.size());
        return probe;
    }
    return fail(ErrorCode::BadInput,
                fmt::format("every item of {} is longer than the model's context of {} tokens; use shorter "
                            "items",
                            prepared->info().name, context));
}

Result<void> LiveProbe::makeBaseline(Sample& sample, int position, const std::stop_token& stop) {
    if (!sample.baseline.shareByLayer.empty()) return {};
    if (position == 0) {
        auto reference = m_session->referenceRepresentation(sample.probed.prompt, {}, stop);
        if (!reference) return fail(reference.error());
        sample.probed.reference = std::move(*reference);
    }
    auto attention = m_session->attentionOfLastToken(sample.probed.prompt, sample.probed.spans, {}, stop);
    if (!attention) return fail(attention.error());
    sample.baseline = sample.attention(std::move(*attention), position);
    return {};
}

Result<void> LiveProbe::add(std::span<Sample> samples, const rope::LayerScales& scales, Seen& seen, Pictures& pictures,
                            const std::stop_token& stop) {
    std::vector<model::ProbedPrompt> batch;
    const auto first = static_cast<int>(seen.now.size());
    for (Sample& sample : samples) {
        const int position = first + static_cast<int>(batch.size());
        if (auto made = makeBaseline(sample, position, stop); !made) return made;
        batch.push_back(sample.probed);
    }
    auto probes = m_session->probePrompts(batch, scales, stop);
    if (!probes) return fail(probes.error());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        seen.before.push_back(samples[i].baseline);
        seen.now.push_back(samples[i].attention(std::move((*probes)[i].attention), first + static_cast<int>(i)));
        if (!(*probes)[i].deviation.empty()) {
            pictures.deviation = {"Representation structure deviation by layer (1 − CKA)", m_words, {}};
            pictures.deviation.series.push_back(deviationOf(std::move((*probes)[i].deviation)));
        }
    }
    const std::span<const std::string> labels(m_labels.data(), seen.now.size());
    auto before = analysis::summariseAttention(seen.before, labels);
    if (!before) return fail(before.error());
    auto now = analysis::summariseAttention(seen.now, labels);
    if (!now) return fail(now.error());
    pictures.prompts = static_cast<int>(seen.now.size());
    pictures.attention = {"Attention of the last prompt token by record", m_words, {}};
    pictures.attention.series.push_back(
        analysis::attentionSeries(*before, kBaselineName, analysis::SeriesRole::Baseline));
    pictures.attention.series.push_back(analysis::attentionSeries(*now, kCurrentName, analysis::SeriesRole::Current));
    return {};
}

Result<LiveProbe::Pictures> LiveProbe::compute(const rope::LayerScales& scales, const Partial& partial,
                                               std::stop_token stop) {
    Pictures pictures;
    pictures.promptsPlanned = static_cast<int>(m_samples.size());
    pictures.sample = m_words;
    Seen seen;
    const std::span<Sample> samples(m_samples);
    // One prompt alone, so that there is a picture soon, and as its reference was made, so that equal scales deviate by
    // nothing; the others in one pass, which is quicker than one by one.
    if (auto added = add(samples.first(1), scales, seen, pictures, stop); !added) return fail(added.error());
    if (samples.size() == 1) return pictures;
    if (partial) partial(pictures);
    if (auto added = add(samples.subspan(1), scales, seen, pictures, stop); !added) return fail(added.error());
    return pictures;
}

Result<model::AppliedCheck> LiveProbe::verify(const rope::LayerScales& scales) {
    std::size_t longest = 1;
    for (const Sample& sample : m_samples) longest = std::max(longest, sample.probed.prompt.size());
    return m_session->verifyApplied(scales, static_cast<int>(longest) - 1);
}

}  // namespace lpes::studies
