#include "core/search/archive.h"

namespace lpes::search {

std::size_t Archive::add(Candidate candidate) {
    const std::size_t place = m_entries.size();
    const std::size_t original = m_byScales.try_emplace(candidate.scales, place).first->second;
    Entry entry;
    entry.record.candidate = std::move(candidate);
    entry.original = original;
    if (original != place) {
        Entry& first = m_entries[original];
        first.duplicates.push_back(place);
        entry.record.duplicateOf = {first.record.candidate.generation, first.record.candidate.index};
        entry.record.evaluation = first.record.evaluation;
        entry.evaluated = first.evaluated;
    }
    m_entries.push_back(std::move(entry));
    return place;
}

void Archive::setEvaluation(std::size_t place, Evaluation evaluation) {
    Entry& entry = m_entries[place];
    entry.record.evaluation = std::move(evaluation);
    entry.evaluated = true;
    for (const std::size_t duplicate : entry.duplicates) {
        m_entries[duplicate].record.evaluation = entry.record.evaluation;
        m_entries[duplicate].evaluated = true;
    }
}

void Archive::dropEvaluation(std::size_t place) {
    Entry& entry = m_entries[place];
    entry.record.evaluation = {};
    entry.evaluated = false;
    for (const std::size_t duplicate : entry.duplicates) {
        m_entries[duplicate].record.evaluation = {};
        m_entries[duplicate].evaluated = false;
    }
}

}  // namespace lpes::search
