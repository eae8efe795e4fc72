#include "core/cluster/session_messages.h"

#include <fmt/format.h>

namespace lpes::cluster {

using nlohmann::json;

Message toMessage(const json& object) {
    return json::to_cbor(object);
}

Result<json> objectOf(const Message& message) {
    json object = json::from_cbor(message, true, false);
    if (object.is_object()) return object;
    return fail(ErrorCode::Failed, "a message of another rank is damaged; start the same lpes on every machine", {},
                kLostPeerContext);
}

Result<json> methodToJson(const model::PositionMethod& method) {
    if (method.rope || method.slidingRope || method.msPoe || method.buckets || method.moice) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("the method '{}' is not run on other machines; only scales are", method.text));
    }
    return json{{"text", method.text},
                {"scales", method.scales},
                {"head_scales", method.headScales},
                {"divisors", method.divisors},
                {"context_factor", method.contextFactor}};
}

model::PositionMethod methodFromJson(const json& object) {
    model::PositionMethod method;
    object.at("text").get_to(method.text);
    object.at("scales").get_to(method.scales);
    object.at("head_scales").get_to(method.headScales);
    object.at("divisors").get_to(method.divisors);
    object.at("context_factor").get_to(method.contextFactor);
    return method;
}

json toJson(std::span<const model::ScoredPrompt> batch) {
    json array = json::array();
    for (const model::ScoredPrompt& one : batch) array.push_back({{"prompt", one.prompt}, {"answer", one.answer}});
    return array;
}

std::vector<model::ScoredPrompt> promptsFromJson(const json& array) {
    std::vector<model::ScoredPrompt> batch;
    for (const json& one : array) {
        batch.emplace_back();
        one.at("prompt").get_to(batch.back().prompt);
        one.at("answer").get_to(batch.back().answer);
    }
    return batch;
}

json toJson(std::span<const model::AnswerScore> scores) {
    json array = json::array();
    for (const model::AnswerScore& one : scores) {
        array.push_back({{"log_probs", one.logProbs}, {"all_argmax", one.allArgmax}, {"mean_nll", one.meanNll}});
    }
    return array;
}

std::vector<model::AnswerScore> scoresFromJson(const json& array) {
    std::vector<model::AnswerScore> scores;
    for (const json& one : array) {
        scores.emplace_back();
        one.at("log_probs").get_to(scores.back().logProbs);
        one.at("all_argmax").get_to(scores.back().allArgmax);
        one.at("mean_nll").get_to(scores.back().meanNll);
    }
    return scores;
}

json toJson(std::span<const model::GeneratedAnswer> answers) {
    json array = json::array();
    for (const model::GeneratedAnswer& one : answers) array.push_back({{"ids", one.ids}, {"ended", one.ended}});
    return array;
}

std::vector<model::GeneratedAnswer> answersFromJson(const json& array) {
    std::vector<model::GeneratedAnswer> answers;
    for (const json& one : array) {
        answers.emplace_back();
        one.at("ids").get_to(answers.back().ids);
        one.at("ended").get_to(answers.back().ended);
    }
    return answers;
}

json toJson(std::span<const model::ScaleGradient> gradients) {
    json array = json::array();
    for (const model::ScaleGradient& one : gradients)
        array.push_back({{"mean_nll", one.meanNll}, {"gradient", one.gradient}});
    return array;
}

std::vector<model::ScaleGradient> gradientsFromJson(const json& array) {
    std::vector<model::ScaleGradient> gradients;
    for (const json& one : array) {
        gradients.emplace_back();
        one.at("mean_nll").get_to(gradients.back().meanNll);
        one.at("gradient").get_to(gradients.back().gradient);
    }
    return gradients;
}

Error errorFromJson(const json& object) {
    return {errorCodeNamed(object.at("code").get_ref<const std::string&>()), object.at("message"), object.at("detail"),
            object.at("context")};
}

}  // namespace lpes::cluster
