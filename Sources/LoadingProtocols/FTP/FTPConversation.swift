/// What is said on one control connection to get one file or listing (RFC 959, with RFC 2428 and RFC 3659): a value
/// without socket and clock. Pass it each event, and carry out its actions in order. After `.complete`,
/// `.refusedLogin` or `.fail` it returns no more.
///
/// Each directory of the path is changed to on its own (RFC 1738 §3.2.2), since a path as a whole means different
/// things to different systems.
package struct FTPConversation: Sendable {
    package enum Action: Sendable, Equatable {
        case send([UInt8])
        /// Connect to this port of the server, whose address is that of the control connection.
        case connect(port: UInt16)
        /// From now on the data connection carries the requested file or listing.
        case begin(FTPTransfer)
        /// The server does not let this user in.
        case refusedLogin(FTPReply)
        case complete
        case fail(FTPFailure)
    }

    private enum State: Equatable {
        case greeting
        case user
        case password
        case type
        /// So many directories have been changed to.
        case directory(Int)
        case size
        case modificationTime
        case extendedPassive
        case passive
        case connecting
        case restart
        case request
        case transfer
        /// The file could not be had, and may be a directory.
        case probe(FTPReply)
        case over
    }

    private let request: FTPRequest
    private let login: FTPLogin
    private let limits: FTPLimits
    private var state = State.greeting
    private var preliminaryCount = 0
    private var transfer = FTPTransfer(size: nil, modificationTime: nil, offset: 0)
    /// How much came over the data connection, once that has ended.
    private var received: Int64?
    private var isConfirmed = false
    private var isConnectionLost = false
    /// The server said that the transfer stopped. What it had sent by then may still be on its way.
    private var interruption: FTPReply?

    package init(_ request: FTPRequest, as login: FTPLogin, limits: FTPLimits = FTPLimits()) {
        self.request = request
        self.login = login
        self.limits = limits
    }

    // MARK: What has happened

    package mutating func received(_ reply: FTPReply) -> [Action] {
        if state == .over { return [] }
        // It is the last reply, also when the data are still on their way.
        if reply.code == 421 { return isConnectionLost ? fail(.unexpectedReply(reply.code)) : connectionEnded() }
        if reply.isPreliminary {
            preliminaryCount += 1
            if preliminaryCount > limits.maximumPreliminaryCount { return fail(.tooManyReplies) }
        }
        switch state {
        case .greeting: return afterGreeting(reply)
        case .user: return afterUser(reply)
        case .password: return afterPassword(reply)
        case .transfer: return during(reply)
        case .request: return afterRequest(reply)
        case .connecting, .over: return fail(.unexpectedReply(reply.code))
        default: break
        }
        // Only greetings and transfers have preliminary replies (1yz).
        if reply.isPreliminary { return fail(.unexpectedReply(reply.code)) }
        switch state {
        case .type: return reply.isSuccess ? changeDirectory(0) : fail(.refused(reply))
        case .directory(let index): return reply.isSuccess ? changeDirectory(index + 1) : refuse(reply)
        case .size:
            transfer.size = reply.size
            guard request.wantsModificationTime || request.beginning != nil else { return askForPort() }
            return say(.modificationTime(request.name), then: .modificationTime)
        case .modificationTime:
            transfer.modificationTime = reply.modificationTime
            return askForPort()
        case .extendedPassive:
            guard reply.isSuccess else { return say(.passive, then: .passive) }
            return connect(reply.extendedPassivePort)
        case .passive: return reply.isSuccess ? connect(reply.passivePort) : fail(.refused(reply))
        case .restart:
            if reply.isIntermediate, let beginning = request.beginning { transfer.offset = beginning.count }
            return ask()
        case .probe(let refusal): return reply.isSuccess ? fail(.isDirectory) : refuse(refusal)
        default: return []
        }
    }

    /// The data connection is there.
    package mutating func connected() -> [Action] {
        guard state == .connecting else { return [] }
        guard let beginning = request.beginning, beginning.count > 0, beginning.size == transfer.size,
            beginning.modificationTime == transfer.modificationTime, beginning.count <= beginning.size
        else { return ask() }
        return say(.restart(beginning.count), then: .restart)
    }

    /// The server has ended the data connection in order, after so many bytes.
    package mutating func dataEnded(after count: Int64) -> [Action] {
        guard state != .over, received == nil else { return [] }
        received = count
        return state == .transfer ? endIfDone() : []
    }

    /// The control connection has ended, in whatever way.
    package mutating func connectionEnded() -> [Action] {
        if state == .over { return [] }
        // What is on its way comes all the same: some gateways forget a connection that is silent for long.
        guard state == .transfer else { return fail(.connectionLost) }
        isConnectionLost = true
        return endIfDone()
    }

    // MARK: Coming in

    private mutating func afterGreeting(_ reply: FTPReply) -> [Action] {
        if reply.isPreliminary { return [] }
        return reply.isSuccess ? say(.user(login.user), then: .user) : fail(.refused(reply))
    }

    private mutating func afterUser(_ reply: FTPReply) -> [Action] {
        if reply.isSuccess { return setType() }
        if reply.code == 331, let password = login.password { return say(.password(password), then: .password) }
        return refuseLogin(reply)
    }

    private mutating func afterPassword(_ reply: FTPReply) -> [Action] {
        reply.isSuccess ? setType() : refuseLogin(reply)
    }

    /// Also if the server requires an account (332), which a URL cannot contain.
    private mutating func refuseLogin(_ reply: FTPReply) -> [Action] {
        guard [331, 332, 430, 530, 532].contains(reply.code) else {
            return fail(reply.isPreliminary || reply.isIntermediate ? .unexpectedReply(reply.code) : .refused(reply))
        }
        state = .over
        return [.refusedLogin(reply)]
    }

    private mutating func refuse(_ reply: FTPReply) -> [Action] {
        // The logged-in user has no access; another user may have it.
        if reply.code == 530 { return refuseLogin(reply) }
        return fail(reply.isIntermediate ? .unexpectedReply(reply.code) : .refused(reply))
    }

    private mutating func setType() -> [Action] { say(.type(request.form == .file ? "I" : "A"), then: .type) }

    private mutating func changeDirectory(_ index: Int) -> [Action] {
        if index < request.directories.count {
            return say(.changeDirectory(request.directories[index]), then: .directory(index))
        }
        // The size of a text is another one when it comes.
        if request.form == .file { return say(.size(request.name), then: .size) }
        return askForPort()
    }

    // MARK: The transfer

    private mutating func askForPort() -> [Action] { say(.extendedPassive, then: .extendedPassive) }

    private mutating func connect(_ port: UInt16?) -> [Action] {
        guard let port else { return fail(.noPort) }
        state = .connecting
        return [.connect(port: port)]
    }

    private mutating func ask() -> [Action] {
        switch request.form {
        case .file, .text: say(.retrieve(request.name), then: .request)
        case .listing: say(.list, then: .request)
        case .names: say(.names, then: .request)
        }
    }

    private var isDirectory: Bool { request.form == .listing || request.form == .names }

    private mutating func afterRequest(_ reply: FTPReply) -> [Action] {
        if reply.isPreliminary { return begin(reply) }
        if reply.isSuccess {
            // Some have nothing to say before a transfer that is short.
            isConfirmed = true
            return begin(reply)
        }
        // Some servers send 450 for an empty directory.
        if isDirectory, reply.code == 450 {
            isConfirmed = true
            received = 0
            return begin(reply)
        }
        if reply.code == 550, !isDirectory { return say(.changeDirectory(request.name), then: .probe(reply)) }
        return refuse(reply)
    }

    private mutating func begin(_ reply: FTPReply) -> [Action] {
        state = .transfer
        // What it counts, the whole or the rest, is not said.
        if request.form == .file, transfer.size == nil, transfer.offset == 0 { transfer.size = reply.announcedLength }
        return [.begin(transfer)] + endIfDone()
    }

    private mutating func during(_ reply: FTPReply) -> [Action] {
        if reply.isPreliminary { return [] }
        guard !isConfirmed, interruption == nil else { return fail(.unexpectedReply(reply.code)) }
        if reply.isSuccess { isConfirmed = true } else { interruption = reply }
        return endIfDone()
    }

    /// A transfer is complete when the server has confirmed it and the data connection has ended. If the length is
    /// known and the control connection is lost, the end of the data connection is enough.
    private mutating func endIfDone() -> [Action] {
        guard let received, isConfirmed || isConnectionLost || interruption != nil else { return [] }
        if let interruption { return fail(.interrupted(interruption)) }
        if let size = transfer.size {
            if received < size - transfer.offset { return fail(isConnectionLost ? .connectionLost : .truncated) }
            if transfer.offset > 0, received > size - transfer.offset { return fail(.overlong) }
        } else if !isConfirmed {
            return fail(.connectionLost)
        }
        state = .over
        guard !isConnectionLost, let quit = FTPCommand.quit.bytes else { return [.complete] }
        return [.send(quit), .complete]
    }

    // MARK: Inside

    private mutating func say(_ command: FTPCommand, then state: State) -> [Action] {
        guard let bytes = command.bytes else { return fail(.forbiddenCharacter) }
        self.state = state
        return [.send(bytes)]
    }

    private mutating func fail(_ failure: FTPFailure) -> [Action] {
        state = .over
        return [.fail(failure)]
    }
}

/// The data that follows.
package struct FTPTransfer: Sendable, Equatable {
    /// Of the whole; nil if unknown.
    package var size: Int64?
    package var modificationTime: String?
    /// Where in the whole the transfer begins.
    package var offset: Int64

    package init(size: Int64?, modificationTime: String?, offset: Int64) {
        self.size = size
        self.modificationTime = modificationTime
        self.offset = offset
    }
}

/// Limits on a server's replies on the control connection. Beyond them the load fails.
package struct FTPLimits: Sendable {
    /// Bytes of one line.
    package var maximumLineLength = 4096
    /// Lines of one reply: a welcome may be long.
    package var maximumLineCount = 1000
    /// Preliminary replies (1xx) in one load.
    package var maximumPreliminaryCount = 32

    package init() {}
}
