#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/profile_text.h"
#include "app/cli/verb.h"
#include "core/base/files.h"
#include "core/base/version.h"
#include "core/exporters/profile.h"

namespace lpes::cli {

namespace {

struct ProfileVerb {
    explicit ProfileVerb(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;

    [[nodiscard]] Result<int> answer(const nlohmann::json& object, const std::string& text) const {
        if (auto printed = printAnswer(output, object, text); !printed) return fail(printed.error());
        return 0;
    }
};

nlohmann::json madeJson(const exporters::Profile& profile, const std::string& file) {
    return {{"profile", file}, {"layers", profile.layers()}, {"scales", exporters::scalesJson(profile)}};
}

struct NewProfile : ProfileVerb {
    using ProfileVerb::ProfileVerb;
    std::string model, per = "layer", kind = "bezier", out;
    std::vector<std::string> points;  ///< one list for each group, or one for all of them
    std::optional<int> layers, kvHeads;
    curve::Constraints constraints;

    Result<exporters::ProfileModel> target() {
        if (model.empty() == !layers.has_value())
            return fail(ErrorCode::Usage, "give exactly one of --model and --layers");
        if (kvHeads && !layers) return fail(ErrorCode::Usage, "--kv-heads goes with --layers; --model has its own");
        if (layers) return exporters::ProfileModel{{}, *layers, 0, 0.0, {}, {}, kvHeads.value_or(0), 0};
        auto opened = studies::openModel(model, false);
        if (!opened) return fail(opened.error());
        return studies::profileModel(opened->weights->config());
    }

    /// What the scales belong to, of this model.
    Result<curve::ScaleGroups> groupsOf(const exporters::ProfileModel& identity) {
        auto groups = curve::parseGroups(per);
        if (!groups) return fail(groups.error());
        const bool heads = groups->kind == curve::ScaleGroups::Kind::KvHead;
        if (kvHeads && !heads)
            return fail(ErrorCode::Usage, "--kv-heads goes with --per kv-head; leave one of them out");
        if (heads) groups->heads = identity.kvHeads;
        if (heads && groups->heads == 0)
            return fail(ErrorCode::Usage,
                        "--per kv-head needs their number; give --kv-heads with --layers, or --model");
        // Without a model the last band says how many frequencies there are.
        const bool bands = groups->kind == curve::ScaleGroups::Kind::Band;
        if (bands && identity.frequencies > 0 && groups->bandEnds.back() != identity.frequencies) {
            return fail(ErrorCode::Usage,
                        fmt::format("--per {} ends at frequency {} and the model has {} frequencies; the "
                                    "last band must end there",
                                    per, groups->bandEnds.back(), identity.frequencies));
        }
        return groups;
    }

    Result<curve::ScaleCurve> curveOf(const std::string& text, curve::CurveKind curveKind, int numLayers) {
        auto parsed = curve::parsePoints(text);
        if (!parsed) return fail(parsed.error());
        if (curveKind == curve::CurveKind::Free && static_cast<int>(parsed->size()) != numLayers) {
            return fail(ErrorCode::Usage, fmt::format("--curve free needs one point per layer: {} points for {} layers",
                                                      parsed->size(), numLayers));
        }
        return curve::ScaleCurve::make(curveKind, std::move(*parsed), constraints);
    }

    Result<curve::GroupedCurve> curves(const exporters::ProfileModel& identity) {
        auto groups = groupsOf(identity);
        if (!groups) return fail(groups.error());
        auto curveKind = curve::parseCurveKind(kind);
        if (!curveKind) return fail(curveKind.error());
        const auto count = static_cast<std::size_t>(groups->count());
        if (points.size() != 1 && points.size() != count) {
            return fail(ErrorCode::Usage,
                        fmt::format("--points is given {} times for {} groups of scales (--per {}); give "
                                    "it once for each, or once for all",
                                    points.size(), count, per));
        }
        std::vector<curve::ScaleCurve> made;
        for (const std::string& text : points) {
            auto one = curveOf(text, *curveKind, identity.layers);
            if (!one) return fail(one.error());
            made.push_back(std::move(*one));
        }
        while (made.size() < count) made.push_back(made.front());
        return curve::GroupedCurve::make(std::move(*groups), std::move(made));
    }

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        std::vector<studies::CommandInput> inputs;
        if (!model.empty()) studies::addModelInput(inputs, "--model", model);
        if (auto fine = checkOutput(out, inputs); !fine) return fail(fine.error());
        auto identity = target();
        if (!identity) return fail(identity.error());
        auto made = curves(*identity);
        if (!made) return fail(made.error());
        exporters::Profile profile;
        profile.model = std::move(*identity);
        profile.groups = made->groups();
        profile.scales = made->decode(profile.model.layers);
        for (const curve::ScaleCurve& one : made->curves()) profile.curves.push_back({one.kind(), one.points()});
        if (profile.groups.perLayer()) {
            profile.curve = std::move(profile.curves.front());
            profile.curves.clear();
        }
        profile.constraints = constraints;
        profile.provenance = {{"made_by", "lpes profile new"}};
        profile.toolVersion = kVersion;
        if (auto written = writeFileAtomically(out, exporters::toJson(profile)); !written) return fail(written.error());
        return answer(madeJson(profile, out), profileText(profile) + fmt::format("\nWritten to {}\n", out));
    }
};

struct ShowProfile : ProfileVerb {
    using ProfileVerb::ProfileVerb;
    std::string file;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        auto loaded = exporters::readProfile(file);
        if (!loaded) return fail(loaded.error());
        for (const std::string& warning : loaded->warnings) printMessage("lpes: warning: " + warning);
        return answer(nlohmann::json::parse(exporters::toJson(loaded->profile)), profileText(loaded->profile));
    }
};

struct CheckProfile : ProfileVerb {
    using ProfileVerb::ProfileVerb;
    std::string file, model;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto given = requireModel(model, "--model"); !given) return fail(given.error());
        auto loaded = exporters::readProfile(file);
        if (!loaded) return fail(loaded.error());
        auto opened = studies::openModel(model, false);
        if (!opened) return fail(opened.error());
        auto fits = exporters::checkFits(loaded->profile, studies::profileModel(opened->weights->config()));
        if (!fits) return fail(fits.error());
        std::vector<std::string> warnings = loaded->warnings;
        warnings.insert(warnings.end(), fits->begin(), fits->end());
        std::string text = fmt::format("{} fits {}\n", file, model);
        for (const std::string& warning : warnings) text += "Warning: " + warning + "\n";
        return answer({{"profile", file}, {"model", model}, {"fits", true}, {"warnings", warnings}}, text);
    }
};

struct TransferProfile : ProfileVerb {
    using ProfileVerb::ProfileVerb;
    std::string file, to, out;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        std::vector<studies::CommandInput> inputs{{"PROFILE", file}};
        studies::addModelInput(inputs, "--to", to);
        if (auto fine = checkOutput(out, inputs); !fine) return fail(fine.error());
        auto loaded = exporters::readProfile(file);
        if (!loaded) return fail(loaded.error());
        for (const std::string& warning : loaded->warnings) printMessage("lpes: warning: " + warning);
        auto opened = studies::openModel(to, false);
        if (!opened) return fail(opened.error());
        auto carried = exporters::transferred(loaded->profile, studies::profileModel(opened->weights->config()));
        if (!carried) return fail(carried.error());
        if (auto written = writeFileAtomically(out, exporters::toJson(*carried)); !written)
            return fail(written.error());
        return answer(madeJson(*carried, out), profileText(*carried) + fmt::format("\nWritten to {}\n", out));
    }
};

template <class Verb>
std::shared_ptr<Verb> addVerb(CLI::App& app, Action& action, const char* name, const char* help) {
    CLI::App* verb = app.add_subcommand(name, help);
    auto state = std::make_shared<Verb>(*verb);
    addJsonOption(*verb, state->output);
    verb->callback([state, &action] { action = [state] { return state->run(); }; });
    return state;
}

void addNew(CLI::App& app, Action& action) {
    auto verb = addVerb<NewProfile>(app, action, "new", "Make a profile from control points");
    SettingFlags& flags = verb->flags;
    flags.add("--model", "MODEL", "Model that the profile is for", toText(verb->model));
    flags.add("--layers", "N", "Number of layers, instead of a model", toOptionalNumber<int>(verb->layers, 1, 100'000));
    flags.add("--kv-heads", "K", "Number of key/value heads, with --layers and --per kv-head",
              toOptionalNumber<int>(verb->kvHeads, 1, curve::kMaxGroupHeads));
    flags.add("--per", "WHAT",
              "What has a scale in every layer: layer; kv-head, every key/value head; or band:8,20,32, every band of "
              "frequencies, by the first frequency behind each, the last one half of what a head rotates [layer]",
              toText(verb->per));
    app.get_subcommand("new")
        ->add_option("--points", verb->points,
                     "Control points as depth:scale, depth from 0 to 1: 0:1.0,0.33:1.6,0.67:2.0,1:1.2; with --per "
                     "several times, once for each head or band in order, or once for all")
        ->type_name("LIST")
        ->expected(1, curve::kMaxGroupFrequencies)
        ->allow_extra_args(false)
        ->required();
    flags.add("--curve", "KIND", curve::curveKindNames() + " (one point per layer) [bezier]", toText(verb->kind));
    flags.add("--scale-min", "X", "Smallest scale that a point may have [0.5]",
              toNumber<double>(verb->constraints.scaleMin));
    flags.add("--scale-max", "X", "Largest scale that a point may have [2.5]",
              toNumber<double>(verb->constraints.scaleMax));
    flags.add("--grid-step", "X", "Scales are rounded to multiples of it; auto: 0.05, none: no rounding [auto]",
              toGridStep(verb->constraints.gridStep));
    flags.add("--out", "FILE", "Profile to write (JSON)", toText(verb->out))->required();
}

}  // namespace

void addProfileVerb(CLI::App& app, Action& action) {
    CLI::App* profile = app.add_subcommand("profile", "Make, show, check and transfer profiles");
    profile->require_subcommand(1);
    addNew(*profile, action);

    auto show = addVerb<ShowProfile>(*profile, action, "show", "What a profile says, layer by layer");
    show->flags.add("PROFILE", "", "Profile, JSON or CSV", toText(show->file))->required();

    auto check = addVerb<CheckProfile>(*profile, action, "check", "Does a profile fit a model?");
    check->flags.add("PROFILE", "", "Profile, JSON or CSV", toText(check->file))->required();
    check->flags.add("--model", "MODEL", "Model it is to fit [$LPES_MODEL]", toText(check->model), "LPES_MODEL");

    auto transfer = addVerb<TransferProfile>(*profile, action, "transfer",
                                             "The same curves for a model with another number of layers");
    transfer->flags.add("PROFILE", "", "Profile with a curve", toText(transfer->file))->required();
    transfer->flags.add("--to", "MODEL", "Model to carry it to", toText(transfer->to))->required();
    transfer->flags.add("--out", "FILE", "Profile to write (JSON)", toText(transfer->out))->required();
}

}  // namespace lpes::cli
