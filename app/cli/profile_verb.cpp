#include <fmt/format.h>

#include <memory>

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

struct NewProfile : ProfileVerb {
    using ProfileVerb::ProfileVerb;
    std::string model, points, kind = "bezier", out;
    std::optional<int> layers;
    curve::Constraints constraints;

    Result<exporters::ProfileModel> target() {
        if (model.empty() == !layers.has_value())
            return fail(ErrorCode::Usage, "give exactly one of --model and --layers");
        if (layers) return exporters::ProfileModel{{}, *layers, 0, 0.0, {}, {}};
        auto opened = studies::openModel(model, false);
        if (!opened) return fail(opened.error());
        return studies::profileModel(opened->weights->config());
    }

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        auto identity = target();
        if (!identity) return fail(identity.error());
        auto kindValue = curve::parseCurveKind(kind);
        if (!kindValue) return fail(kindValue.error());
        auto parsed = curve::parsePoints(points);
        if (!parsed) return fail(parsed.error());
        if (*kindValue == curve::CurveKind::Free && static_cast<int>(parsed->size()) != identity->layers) {
            return fail(ErrorCode::Usage, fmt::format("--curve free needs one point per layer: {} points for {} layers",
                                                      parsed->size(), identity->layers));
        }
        auto made = curve::ScaleCurve::make(*kindValue, *parsed, constraints);
        if (!made) return fail(made.error());
        exporters::Profile profile;
        profile.model = std::move(*identity);
        profile.scales = made->decode(profile.model.layers);
        profile.curve = exporters::Profile::Curve{*kindValue, std::move(*parsed)};
        profile.constraints = constraints;
        profile.provenance = {{"made_by", "lpes profile new"}};
        profile.toolVersion = kVersion;
        if (auto written = writeFileAtomically(out, exporters::toJson(profile)); !written) return fail(written.error());
        return answer({{"profile", out}, {"layers", profile.model.layers}, {"scales", profile.scales}},
                      profileText(profile) + fmt::format("\nWritten to {}\n", out));
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
        auto loaded = exporters::readProfile(file);
        if (!loaded) return fail(loaded.error());
        for (const std::string& warning : loaded->warnings) printMessage("lpes: warning: " + warning);
        auto opened = studies::openModel(to, false);
        if (!opened) return fail(opened.error());
        auto carried = exporters::transferred(loaded->profile, studies::profileModel(opened->weights->config()));
        if (!carried) return fail(carried.error());
        if (auto written = writeFileAtomically(out, exporters::toJson(*carried)); !written)
            return fail(written.error());
        return answer({{"profile", out}, {"layers", carried->model.layers}, {"scales", carried->scales}},
                      profileText(*carried) + fmt::format("\nWritten to {}\n", out));
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
    flags
        .add("--points", "LIST", "Control points as depth:scale, depth from 0 to 1: 0:1.0,0.33:1.6,0.67:2.0,1:1.2",
             toText(verb->points))
        ->required();
    flags.add("--curve", "KIND", "bezier, linear, step or free (one point per layer) [bezier]", toText(verb->kind));
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
                                             "The same curve for a model with another number of layers");
    transfer->flags.add("PROFILE", "", "Profile with a curve", toText(transfer->file))->required();
    transfer->flags.add("--to", "MODEL", "Model to carry it to", toText(transfer->to))->required();
    transfer->flags.add("--out", "FILE", "Profile to write (JSON)", toText(transfer->out))->required();
}

}  // namespace lpes::cli
