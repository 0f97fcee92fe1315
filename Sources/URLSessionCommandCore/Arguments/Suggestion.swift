/// Suggests a correction for a mistyped switch or command.
package enum Suggestion {
    /// The word with the smallest edit distance, or nil if none is near.
    package static func nearest(to word: String, among words: [String]) -> String? {
        let most = word.count < 4 ? 1 : 2
        let near = words.map { (word: $0, distance: distance(word, $0)) }.filter { 1...most ~= $0.distance }
        return near.min { ($0.distance, $0.word) < ($1.distance, $1.word) }?.word
    }

    /// The Damerau-Levenshtein distance: insertions, deletions, replacements and transpositions of neighbours.
    package static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var cost = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a == b ? 0 : 1))
                if i > 0, j > 0, a == right[j - 1], left[i - 1] == b { cost = min(cost, rows[i - 1][j - 1] + 1) }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
