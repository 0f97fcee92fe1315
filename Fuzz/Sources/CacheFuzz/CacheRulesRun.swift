import LoadingSemantics

/// What must hold for the decisions about any response and request.
enum CacheRulesRun {
    private static let came: Int64 = 1_700_000_000

    static func check(response: [String], request: [String], others: [String]) {
        guard let url = try? HTTPURL("https://a.example/x") else { preconditionFailure("a URL that is one") }
        var fields = HTTPFields(CacheControlRun.fields(response))
        for line in others {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].isEmpty { fields.append(String(parts[0]), String(parts[1])) }
        }
        let sent = HTTPFields(CacheControlRun.fields(request))
        let wanted = CacheRequest(url: url, fields: sent)
        let wish = CacheControl(sent)
        let decision = CacheStorageRules.decide(
            wanted, status: 200, fields: fields, requestTime: came - 1, responseTime: came, isComplete: true)
        guard case .store(let stored) = decision else { return }
        let control = CacheControl(stored.fields)
        precondition(!control.noStore || control.mustUnderstand, "what must not be stored is stored")
        precondition(!wish.noStore, "what the request does not want stored is stored")

        var wasServed = true
        // Never out and in again: with time a response only gets older.
        for later: Int64 in [0, 1, 59, 3600, 1 << 31, 1 << 33] {
            let now = came + later
            let left = CacheFreshness(stored, now: now).remaining ?? 0
            switch CacheRules.decide(wanted, stored: [stored], now: now) {
            case .serve(_, let age, let reason):
                precondition(wasServed, "fresh again without having been asked about")
                precondition(age.map { $0 >= later + 1 } == true, "younger than the time that it was here")
                precondition(!control.noCache && !wish.noCache, "served without asking")
                precondition((reason == .fresh) == (left > 0), "fresh or not")
                precondition(left > 0 || wish.maxStale != nil && !control.mustRevalidate, "served stale")
            case .revalidate(let indices, let adding, _):
                wasServed = false
                precondition(indices == [0], "asks about what is not there")
                check(stored, wanted, adding, now)
            case .servePart:
                preconditionFailure("a part of a body that was not given")
            case .load, .fail:
                wasServed = false
            }
        }
    }

    /// A server that has what is stored says so, by the book.
    private static func check(_ stored: StoredResponse, _ request: CacheRequest, _ asked: HTTPFields, _ now: Int64) {
        var answer = HTTPFields([("Cache-Control", "max-age=60"), ("X-New", "1")])
        if let tag = stored.fields.firstValue("ETag") { answer.append("ETag", tag) }
        let outcome = CacheValidationRules.read(
            status: 304, fields: answer, requestTime: now, responseTime: now, to: request, stored: [stored],
            validated: [0])
        guard case .confirmed(let confirmed, let others) = outcome, others.isEmpty else {
            preconditionFailure("a confirmation is not taken")
        }
        precondition(confirmed.response.fields.values("X-New") == ["1"], "news are lost")
        precondition(CacheFreshness(confirmed.response, now: now).remaining == 60, "life does not begin anew")
    }
}
