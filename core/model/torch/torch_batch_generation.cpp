// Answers to several prompts at once, each with a slot of one cache.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/model/torch/compute_scope.h"
#include "core/model/torch/request_checks.h"
#include "core/model/torch/token_scores.h"
#include "core/model/torch/torch_session.h"

namespace lpes::model {

namespace {

/// Room for new tokens that is made before the first of them: a cache that grows is copied.
constexpr int kRoomAhead = 128;

}  // namespace

Result<std::vector<GeneratedAnswer>> TorchSession::generateAnswers(std::span<const std::vector<TokenId>> prompts,
                                                                   const PositionMethod& method,
                                                                   const GenerateOptions& options,
                                                                   std::stop_token stop) {
    if (prompts.empty()) return fail(ErrorCode::Usage, "there are no prompts to answer; give at least one");
    if (options.mostNewTokens < 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("{} new tokens are no answer; ask for at least one", options.mostNewTokens));
    }
    if (auto r = rope::checkMethod(method, m_methodModel); !r) return fail(r.error());
    const int context = contextLength(method);
    std::vector<CachedSequence> sequences;
    std::size_t longest = 0;
    for (const std::vector<TokenId>& prompt : prompts) {
        if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
        if (auto r = checkLength(prompt.size(), "prompt", context); !r) return fail(r.error());
        sequences.push_back({prompt, sequences.size()});
        longest = std::max(longest, prompt.size());
    }
    const int room = std::min(context, static_cast<int>(longest) + std::min(options.mostNewTokens, kRoomAhead));
    if (auto r = checkPass(method, static_cast<std::size_t>(room) * prompts.size(), true); !r) return fail(r.error());
    return computing("generating answers", m_threads, [&]() -> Result<std::vector<GeneratedAnswer>> {
        KvCache cache(config(), scalarType(m_model->type), m_model->weights.devices);
        const rope::MethodCost cost = rope::methodCost(method);
        cache.setCopies(cost.keyCaches, cost.valueCaches, prompts.size());
        cache.reserve(room, 0, context);
        std::vector<GeneratedAnswer> answers(prompts.size());
        std::vector<CachedSequence*> open;
        /// Reads on and appends to each answer what is likeliest; those that are not complete stay open.
        const auto readAndAppend = [&](std::span<CachedSequence* const> together) -> Result<void> {
            const auto scores = reduceLogits(readOn(together, cache, method, stop), {});
            if (!scores) return fail(scores.error());
            for (std::size_t i = 0; i < together.size(); ++i) {
                CachedSequence& sequence = *together[i];
                GeneratedAnswer& answer = answers[sequence.slot];
                sequence.cached = static_cast<int>(sequence.ids.size());
                const TokenId next = (*scores)[i].argmax;
                answer.ended = std::ranges::find(options.endIds, next) != options.endIds.end();
                if (answer.ended) continue;
                answer.ids.push_back(next);
                if (std::ssize(answer.ids) == options.mostNewTokens || sequence.cached + 1 == context) continue;
                sequence.ids.push_back(next);
                open.push_back(&sequence);
            }
            return {};
        };
        if (auto r = readPrompts(sequences, cache, method, options.sharePrefixes, readAndAppend); !r)
            return fail(r.error());
        while (!open.empty()) {
            std::vector<CachedSequence*> alone, together;
            int length = 0, cached = 0;
            for (CachedSequence* sequence : std::exchange(open, {})) {
                cached = std::max(cached, sequence->cached);
                length = std::max(length, static_cast<int>(sequence->ids.size()));
                prepareToRead(*sequence, method);
                // One that has to be read anew would make a large pass of the many small ones.
                (sequence->cached == 0 ? alone : together).push_back(sequence);
            }
            cache.reserve(length, cached, context);
            for (CachedSequence*& sequence : alone) {
                if (auto r = readAndAppend(std::span(&sequence, 1)); !r) return fail(r.error());
            }
            if (together.empty()) continue;
            if (auto r = readAndAppend(together); !r) return fail(r.error());
        }
        return answers;
    });
}

Result<void> TorchSession::readPrompts(std::vector<CachedSequence>& sequences, KvCache& cache,
                                       const PositionMethod& method, bool share, const ReadSequences& read) {
    std::vector<std::vector<TokenId>> ids;
    for (const CachedSequence& sequence : sequences) ids.push_back(sequence.ids);
    const SharedPrefixes shared = sharedPrefixes(ids, method, m_methodModel, share);
    for (const SharedPrefixes::Beginning& known : shared.beginnings()) {
        CachedSequence& sequence = sequences[known.sequence];
        if (std::ssize(sequence.ids) == contextLength(method)) continue;
        // The last token is read in any case: its logits are wanted.
        const std::size_t taken = std::min(known.tokens, sequence.ids.size() - 1);
        if (taken > 0 && sequences[known.ahead].cached > 0) {
            cache.copyBeginning(sequences[known.ahead].slot, sequence.slot, static_cast<int>(taken));
            sequence.variants = lengthVariants(method, m_methodModel, sequence.ids.size());
            sequence.cached = static_cast<int>(taken);
        }
        prepareToRead(sequence, method);
        CachedSequence* const one = &sequence;
        if (auto r = read(std::span(&one, 1)); !r) return r;
    }
    return {};
}

}  // namespace lpes::model
