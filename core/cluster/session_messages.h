#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_text.h"
#include "core/base/result.h"
#include "core/cluster/channel.h"
#include "core/model/causal_lm.h"

/// What a session is asked and what it answers, as messages: CBOR (RFC 8949), whose numbers keep every bit.
///
///   to a rank    {do: "score", id, method, share, batch: [{prompt: [id…], answer: [id…]}…]}
///                {do: "generate", id, method, share, most, ends: [id…], prompts: [[id…]…]}
///                {do: "gradients", id, method, batch: [{prompt: [id…], answer: [id…]}…]}
///                {do: "stop", id}        the request of that number ends at its next layer
///   from a rank  {id, scores: [{log_probs: […], all_argmax, mean_nll}…]}
///                {id, answers: [{ids: […], ended}…]}
///                {id, gradients: [{mean_nll, gradient: […]}…]}
///                {id, error: {code, message, detail, context}}
namespace lpes::cluster {

[[nodiscard]] Message toMessage(const nlohmann::json& object);
/// isLostPeer for bytes that are no object: the connection is of no use any more.
[[nodiscard]] Result<nlohmann::json> objectOf(const Message& message);
/// Runs `read`, which takes an object apart; isLostPeer, with the reason, where that throws a JSON exception.
template <class Read>
[[nodiscard]] auto readMessage(Read&& read) -> Result<decltype(read())> {
    try {
        return read();
    } catch (const nlohmann::json::exception& error) {
        return fail(ErrorCode::Failed, "a message of another rank cannot be read; start the same lpes on every machine",
                    error.what(), kLostPeerContext);
    }
}

/// Unsupported, naming the method, for one that is more than scales of positions and divisors of frequencies, which is
/// what a search tries.
[[nodiscard]] Result<nlohmann::json> methodToJson(const model::PositionMethod& method);
[[nodiscard]] nlohmann::json toJson(std::span<const model::ScoredPrompt> batch);
[[nodiscard]] nlohmann::json toJson(std::span<const model::AnswerScore> scores);
[[nodiscard]] nlohmann::json toJson(std::span<const model::GeneratedAnswer> answers);
[[nodiscard]] nlohmann::json toJson(std::span<const model::ScaleGradient> gradients);

// These throw nlohmann::json::exception: use them inside readMessage.
[[nodiscard]] model::PositionMethod methodFromJson(const nlohmann::json& object);
[[nodiscard]] std::vector<model::ScoredPrompt> promptsFromJson(const nlohmann::json& array);
[[nodiscard]] std::vector<model::AnswerScore> scoresFromJson(const nlohmann::json& array);
[[nodiscard]] std::vector<model::GeneratedAnswer> answersFromJson(const nlohmann::json& array);
[[nodiscard]] std::vector<model::ScaleGradient> gradientsFromJson(const nlohmann::json& array);
[[nodiscard]] Error errorFromJson(const nlohmann::json& object);

}  // namespace lpes::cluster
