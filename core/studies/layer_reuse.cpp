#include "core/studies/layer_reuse.h"

#include <algorithm>
#include <set>

namespace lpes::studies {

LayerReuse::LayerReuse(int layers, int groups, std::int64_t mostBytes)
    : m_layers(layers), m_groups(static_cast<std::size_t>(groups)), m_mostBytes(mostBytes) {}

void LayerReuse::expect(const std::vector<search::Candidate>& candidates) {
    const std::lock_guard lock(m_mutex);
    const auto known = [&](const search::Candidate& candidate) { return m_places.contains(candidate.scales); };
    if (candidates.empty() || !std::ranges::all_of(candidates, known)) {
        plan(candidates);
        return;
    }
    std::set<std::size_t> left;
    for (const search::Candidate& candidate : candidates) left.insert(m_places.at(candidate.scales));
    for (std::size_t member = 0; member < m_members.size(); ++member) {
        if (!left.contains(member)) releaseMember(m_members[member]);
    }
}

/// In the order of their scales, candidates with the same leading layers stand side by side.
void LayerReuse::plan(const std::vector<search::Candidate>& candidates) {
    m_held.clear();
    m_bytes = 0;
    m_nodes.clear();
    m_places.clear();
    std::map<std::vector<double>, int> generations;
    for (const search::Candidate& candidate : candidates) generations.emplace(candidate.scales, candidate.generation);
    m_members.assign(generations.size(), {});
    std::vector<int> shared(generations.size(), 0);  // layers that each has in common with the one behind it
    const std::vector<double>* before = nullptr;
    for (const auto& [scales, generation] : generations) {
        const std::size_t place = m_places.size();
        m_members[place].generation = generation;
        if (before) {
            const auto common = std::ranges::mismatch(*before, scales).in1 - before->begin();
            shared[place - 1] = static_cast<int>(static_cast<std::size_t>(common) / m_groups);
        }
        before = &m_places.emplace_hint(m_places.end(), scales, place)->first;
    }
    for (int layers = 1; layers < m_layers; ++layers) {
        for (std::size_t first = 0, last = 0; first < m_members.size(); first = last) {
            bool parts = false;
            for (last = first + 1; last < m_members.size() && shared[last - 1] >= layers; ++last)
                parts = parts || shared[last - 1] == layers;
            if (!parts) continue;
            for (std::size_t member = first; member < last; ++member) m_members[member].nodes.push_back(m_nodes.size());
            m_nodes.push_back({layers, first, last});
        }
    }
}

void LayerReuse::release(const std::vector<double>& scales) {
    const std::lock_guard lock(m_mutex);
    if (const auto place = m_places.find(scales); place != m_places.end()) releaseMember(m_members[place->second]);
}

void LayerReuse::releaseMember(Member& member) {
    for (auto held = m_held.begin(); held != m_held.end();) {
        const std::size_t pass = held->first.first;
        const auto next = m_held.lower_bound({pass + 1, 0});
        if (member.awaits(pass)) leave(deepest(member, pass));
        held = next;
    }
    member.released = true;
}

std::unique_ptr<ReusingPass> LayerReuse::pass(const std::vector<double>& scales, std::size_t number) {
    const std::lock_guard lock(m_mutex);
    const auto place = m_places.find(scales);
    return place == m_places.end() ? nullptr : std::make_unique<ReusingPass>(*this, place->second, number);
}

std::int64_t LayerReuse::heldBytes() const {
    const std::lock_guard lock(m_mutex);
    return m_bytes;
}

std::map<int, LayerReuse::LayerPasses> LayerReuse::passes() const {
    const std::lock_guard lock(m_mutex);
    return m_passes;
}

nlohmann::json LayerReuse::summary() const {
    const std::lock_guard lock(m_mutex);
    LayerPasses sum;
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& [generation, passes] : m_passes) {
        sum.all += passes.all;
        sum.spared += passes.spared;
        rows.push_back({{"generation", generation}, {"layer_passes", passes.all}, {"not_computed", passes.spared}});
    }
    const double share = sum.all == 0 ? 0.0 : static_cast<double>(sum.spared) / static_cast<double>(sum.all);
    return {{"layer_passes", sum.all},
            {"not_computed", sum.spared},
            {"share", share},
            {"memory_was_short", m_memoryWasShort},
            {"by_generation", std::move(rows)}};
}

LayerReuse::HeldStates::iterator LayerReuse::deepest(const Member& member, std::size_t pass) {
    for (auto node = member.nodes.rbegin(); node != member.nodes.rend(); ++node) {
        if (const auto held = m_held.find({pass, *node}); held != m_held.end()) return held;
    }
    return m_held.end();
}

std::optional<std::size_t> LayerReuse::nodeAt(const Member& member, int layers) const {
    for (std::size_t i = 0; i < member.nodes.size(); ++i) {
        if (m_nodes[member.nodes[i]].layers == layers) return i;
    }
    return std::nullopt;
}

/// By one that parts from `member` there and knows nothing deeper. Who goes on with it takes the next state.
bool LayerReuse::wanted(const Member& member, std::size_t pass, std::size_t node) {
    const Node& here = m_nodes[member.nodes[node]];
    if (m_held.contains({pass, member.nodes[node]})) return false;
    const Node* const next = node + 1 < member.nodes.size() ? &m_nodes[member.nodes[node + 1]] : nullptr;
    for (std::size_t other = here.first; other < here.last; ++other) {
        if (!m_members[other].awaits(pass) || (next && next->holds(other))) continue;
        const auto held = deepest(m_members[other], pass);
        if (held == m_held.end() || layersOf(held) < here.layers) return true;
    }
    return false;
}

void LayerReuse::begin(Member& member, std::size_t pass) {
    if (!member.awaits(pass)) return;
    leave(deepest(member, pass));
    if (pass >= member.begun.size()) member.begun.resize(pass + 1, false);
    member.begun[pass] = true;
}

void LayerReuse::leave(HeldStates::iterator held) {
    if (held == m_held.end() || --held->second.users > 0) return;
    m_bytes -= held->second.state->bytes();
    m_held.erase(held);
}

ReusingPass::~ReusingPass() {
    const std::lock_guard lock(m_reuse.m_mutex);
    m_reuse.begin(m_reuse.m_members[m_member], m_number);
}

model::LeadingStates::Known ReusingPass::begin() {
    const std::lock_guard lock(m_reuse.m_mutex);
    LayerReuse::Member& member = m_reuse.m_members[m_member];
    Known known;
    if (const auto held = m_reuse.deepest(member, m_number); held != m_reuse.m_held.end())
        known = {m_reuse.layersOf(held), held->second.state};
    m_reuse.begin(member, m_number);
    m_known = known.layers;
    return known;
}

bool ReusingPass::wanted(int layers, std::int64_t bytes) {
    const std::lock_guard lock(m_reuse.m_mutex);
    if (m_reuse.m_bytes + bytes > m_reuse.m_mostBytes) return false;
    const LayerReuse::Member& member = m_reuse.m_members[m_member];
    const auto node = m_reuse.nodeAt(member, layers);
    return node && m_reuse.wanted(member, m_number, *node);
}

void ReusingPass::keep(int layers, std::shared_ptr<const model::LayerState> state) {
    const std::int64_t bytes = state->bytes();
    const std::lock_guard lock(m_reuse.m_mutex);
    const LayerReuse::Member& member = m_reuse.m_members[m_member];
    const auto node = m_reuse.nodeAt(member, layers);
    // Others may have kept theirs meanwhile.
    if (!node || m_reuse.m_bytes + bytes > m_reuse.m_mostBytes || !m_reuse.wanted(member, m_number, *node)) return;
    const std::size_t number = member.nodes[*node];
    const LayerReuse::Node& here = m_reuse.m_nodes[number];
    std::size_t users = 0;
    for (std::size_t other = here.first; other < here.last; ++other) {
        if (!m_reuse.m_members[other].awaits(m_number)) continue;
        const auto held = m_reuse.deepest(m_reuse.m_members[other], m_number);
        const bool any = held != m_reuse.m_held.end();
        if (any && m_reuse.layersOf(held) > here.layers) continue;
        if (any) m_reuse.leave(held);
        ++users;
    }
    m_reuse.m_held.emplace(std::pair(m_number, number), LayerReuse::Held{std::move(state), users});
    m_reuse.m_bytes += bytes;
}

void ReusingPass::scored(std::int64_t prompts) {
    const std::lock_guard lock(m_reuse.m_mutex);
    LayerReuse::LayerPasses& passes = m_reuse.m_passes[m_reuse.m_members[m_member].generation];
    passes.all += prompts * m_reuse.m_layers;
    passes.spared += prompts * m_known;
}

void ReusingPass::giveMemoryBack() {
    const std::lock_guard lock(m_reuse.m_mutex);
    m_reuse.m_held.clear();
    m_reuse.m_bytes = 0;
    m_reuse.m_mostBytes = 0;
    m_reuse.m_memoryWasShort = true;
}

}  // namespace lpes::studies
