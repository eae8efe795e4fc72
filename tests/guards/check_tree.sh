#!/usr/bin/env bash
# Guards over the tree that need no build: which folders exist, which way includes point, what must not be in the text.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
failures=0
complain() { printf 'guard: %s\n' "$*" >&2; failures=$((failures + 1)); }
files() { git ls-files -z --cached --others --exclude-standard -- "$@"; }

# 1. The top level is as ARCHITECTURE.md says.
allowed=' app core widgets resources tests packaging CMakeLists.txt CMakePresets.json README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE .clang-format .clang-tidy .gitignore .gitattributes .ci '
while read -r entry; do
  case "$allowed" in *" $entry "*) ;; *) complain "'$entry' does not belong on the top level" ;; esac
done < <(git ls-files --cached --others --exclude-standard | cut -d/ -f1 | sort -u)

# 2. Includes follow the arrows: module → what it may include besides itself.
declare -A may=(
  [base]='' [curve]='base' [rope]='base' [text]='base' [search]='curve base' [tasks]='text base'
  [analysis]='tasks base' [store]='base' [remote]='store base' [exporters]='rope curve base' [model]='rope text base' [cluster]='model base'
  [studies]='search cluster tasks model analysis store exporters rope curve text base'
)
for module in "${!may[@]}"; do
  while IFS=: read -r file line; do
    target=$(sed -E 's/.*"core\/([a-z_]+)\/.*/\1/' <<<"$line")
    [ "$target" = "$module" ] && continue
    case " ${may[$module]} " in *" $target "*) ;; *) complain "$file includes core/$target, which core/$module may not" ;; esac
  done < <(grep -HE '#include "core/' -r "core/$module" --include='*.h' --include='*.cpp' --include='*.cu' | sed -E 's/^([^:]+):/\1:/')
done
grep -nE '#include "(app|widgets)/' -r core && complain "core includes app or widgets"
grep -nE '#include "core/(store|model|studies)/' -r widgets && complain "widgets include store, model or studies"
grep -nE '#include "app/' -r widgets core && complain "somebody includes app"
grep -nE '#include <(Q[A-Z]|Qt)' -r core app/cli && complain "Qt in core or in the command line"

# 3. LibTorch and SQLite stay behind their modules' .cpp files.
grep -lE '#include <(torch|ATen|c10)/' -r core app widgets tests --include='*.h' --include='*.cpp' | grep -vE '^(core/model/torch/|tests/core/model_torch/|tests/bench/)' && complain "LibTorch is included outside core/model/torch"
grep -lE '#include <(SQLiteCpp|sqlite3)' -r core app widgets --include='*.h' --include='*.cpp' | grep -v '^core/store/' && complain "SQLite is included outside core/store"
for header in core/model/torch/torch_runtime.h core/model/causal_lm.h core/store/store.h core/store/rows.h; do
  grep -nE '#include <(torch|ATen|c10|SQLiteCpp|sqlite3)' "$header" && complain "$header shows a library's types"
done

# 4. Assertions that pass silently inside GoogleTest.
grep -nE '\b(QVERIFY|QCOMPARE)\b' -r tests --include='*.cpp' && complain "QVERIFY or QCOMPARE in a GoogleTest case"

# 5. No absolute path of a machine in the text.
files | xargs -0 grep -nIE '(^|[^A-Za-z0-9_.$}])/(root|home|work)/' -- 2>/dev/null | grep -v '^tests/' && complain "an absolute path of a machine"

# 6. Files stay small enough to read.
while IFS= read -r -d '' file; do
  lines=$(wc -l <"$file")
  case "$file" in
    *.h) [ "$lines" -le 260 ] || complain "$file has $lines lines; split it" ;;
    *.cpp) [ "$lines" -le 520 ] || complain "$file has $lines lines; split it" ;;
  esac
done < <(files 'core/*' 'app/*' 'widgets/*')

# 7. No figure was left to be filled in.
grep -nE '@[A-Z0-9]{3,}@' README.md && complain "README.md has a placeholder"

[ "$failures" = 0 ] || { printf 'guard: %d complaint(s)\n' "$failures" >&2; exit 1; }
echo "guards: the tree is in order"
