internal import CLoadingLinux
internal import Glibc
internal import LoadingSemantics

/// Queries the system's name servers for the HTTPS records of an origin, and follows AliasMode records (RFC 9460 §3).
/// Blocks.
struct HTTPSRecordLookup {
    private let question: HTTPSRecordQuery
    private let hosts: () -> HostsFile
    private let ask: (String) -> Result<HTTPSAnswer, NameFailure>

    /// The number of aliases that are followed.
    private static let mostAliases = 4
    /// A larger answer counts as a failure.
    private static let mostBytes = 16_384
    /// The number of rounds over all servers. Once there is a connection, no load waits for this answer.
    private static let tries: Int32 = 2

    init(
        _ question: HTTPSRecordQuery, hosts: @escaping () -> HostsFile = { .system },
        ask: @escaping (String) -> Result<HTTPSAnswer, NameFailure> = askSystem
    ) {
        self.question = question
        self.hosts = hosts
        self.ask = ask
    }

    func answer() -> HTTPSRecordAnswer {
        // A name in the hosts file means that machine, whatever DNS contains.
        if hosts().names(question.host) { return .success(.none) }
        var name = question.name
        var lifetime: UInt32?
        for _ in 0...Self.mostAliases {
            let answer: HTTPSAnswer
            switch ask(name) {
            case .success(let success): answer = success
            case .failure(let failure): return .failure(failure)
            }
            if let lifetimeOfAnswer = answer.lifetime { lifetime = min(lifetime ?? lifetimeOfAnswer, lifetimeOfAnswer) }
            switch answer.content {
            case .none: return .success(HTTPSRecordSet([], lifetime: lifetime))
            case .services(let records):
                // A record may name any target, including this machine or a host in its network.
                let usable = records.filter { $0.target == name || HTTPSRecordQuery.isForNameServers($0.target) }
                return .success(HTTPSRecordSet(usable, lifetime: lifetime))
            case .alias(let target):
                guard HTTPSRecordQuery.isForNameServers(target) else {
                    return .success(HTTPSRecordSet([], lifetime: lifetime))
                }
                name = target
            }
        }
        return .success(HTTPSRecordSet([], lifetime: lifetime))
    }

    private static func askSystem(_ name: String) -> Result<HTTPSAnswer, NameFailure> {
        var message = [UInt8](repeating: 0, count: mostBytes)
        let count = cll_ask_name_servers(
            name, 65, &message, Int32(message.count), TimeLimits.standard.recordQueryTimeout, tries)
        guard count >= 0 else {
            // The name has no such records, or does not exist at all: in both cases it has no HTTPS records.
            let isNothing = count == -CLL_NO_SUCH_NAME || count == -CLL_NO_SUCH_DATA
            return isNothing ? .success(HTTPSAnswer(.none, lifetime: nil)) : .failure(NameFailure(code: EAI_AGAIN))
        }
        guard count <= message.count else { return .failure(NameFailure(code: EAI_FAIL)) }
        message.removeLast(message.count - Int(count))
        guard let answer = HTTPSAnswer(message, about: name) else { return .failure(NameFailure(code: EAI_FAIL)) }
        return .success(answer)
    }
}
