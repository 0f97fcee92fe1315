import LoadingSemantics

/// What must hold for the directives of any lines.
enum CacheControlRun {
    static func check(_ lines: [String]) {
        let control = read(lines)
        precondition(control.maxAge.map { (0...1 << 31).contains($0) } ?? true, "a lifetime out of range")
        precondition(
            control.minFresh.map { (0...1 << 31).contains($0) || $0 == .max } ?? true, "min-fresh out of range")
        if case .atMost(let seconds) = control.maxStale {
            precondition((0...1 << 31).contains(seconds), "max-stale out of range")
        }

        // Case means nothing, and neither does white space around items.
        precondition(control == read(lines.map(uppercase)), "case changes what is read")
        precondition(control == read(lines.map { " \t,, \($0)\t" }), "white space changes what is read")
        // Several lines are one list, unless a quoted string could reach from one into the next.
        if !lines.contains(where: { $0.utf8.contains(UInt8(ascii: "\"")) }) {
            precondition(control == read([lines.joined(separator: ", ")]), "lines are not a list")
        }
        // Nothing hides what stands on another line, before or behind.
        for strict in ["no-store", "no-cache", "must-revalidate"] {
            for more in [read([strict] + lines), read(lines + [strict])] {
                let isRead =
                    switch strict {
                    case "no-store": more.noStore
                    case "no-cache": more.noCache
                    default: more.mustRevalidate
                    }
                precondition(isRead, "a directive was hidden")
                precondition(more.maxAge == control.maxAge, "another directive changes a lifetime")
            }
        }
        precondition(read(lines + ["max-age=7"]).maxAge == control.maxAge ?? 7, "not the first counts")
        precondition(read(["max-age=7"] + lines).maxAge == 7, "not the first counts")
        // What was read, written anew, reads the same.
        precondition(read([written(control)]) == control, "not the same when written anew")
    }

    static func fields(_ lines: [String]) -> [(String, String)] { lines.map { ("Cache-Control", $0) } }

    private static func read(_ lines: [String]) -> CacheControl { CacheControl(HTTPFields(fields(lines))) }

    private static func uppercase(_ line: String) -> String {
        String(decoding: line.utf8.map { $0 &- 0x61 < 26 ? $0 & 0xDF : $0 }, as: UTF8.self)
    }

    private static func written(_ control: CacheControl) -> String {
        var items: [String] = []
        if let maxAge = control.maxAge { items.append("max-age=\"\(maxAge)\"") }
        if let minFresh = control.minFresh { items.append(minFresh == .max ? "min-fresh" : "min-fresh=\(minFresh)") }
        switch control.maxStale {
        case .any: items.append("max-stale")
        case .atMost(let seconds): items.append("max-stale=\(seconds)")
        case nil: break
        }
        if control.noCache { items.append("no-cache=\"a, b\\\"\"") }
        if control.noStore { items.append("no-store") }
        if control.onlyIfCached { items.append("only-if-cached") }
        if control.mustRevalidate { items.append("must-revalidate") }
        if control.mustUnderstand { items.append("must-understand") }
        if control.isPublic { items.append("public") }
        if control.isPrivate { items.append("private=\"x\"") }
        if control.isImmutable { items.append("immutable") }
        return items.joined(separator: ",")
    }
}
