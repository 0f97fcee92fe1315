import Foundation
import FoundationNetworking

private let basic = ("WWW-Authenticate", "Basic realm=\"place\"")

private func credential(_ user: String = "user", _ password: String = "secret") -> URLCredential {
    URLCredential(user: user, password: password, persistence: .forSession)
}

private func basicValue(_ user: String, _ password: String) -> String {
    "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
}

/// Accepts requests with the password.
private func basicServer(_ challenges: [(String, String)] = [basic]) throws -> Server {
    try Server { request in
        request.value("Authorization") == basicValue("user", "secret")
            ? Response(200, [("Cache-Control", "no-store")], "in") : Response(401, challenges, "out")
    }
}

private func space(_ server: Server, realm: String = "place") -> URLProtectionSpace {
    URLProtectionSpace(
        host: "127.0.0.1", port: server.port, protocol: "http", realm: realm,
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
}

/// The status of the last response that was reported.
private func lastStatus(_ recorder: Recorder) -> Int? { (recorder.seen.responses.last as? HTTPURLResponse)?.statusCode }

private func answering(_ answer: @escaping Recorder.Challenge) -> Recorder { Recorder { $0.challenge = answer } }

/// The parameters of a Digest field.
private func parameters(_ field: String?) -> [String: String] {
    var result: [String: String] = [:]
    for part in (field ?? "").dropFirst("Digest ".count).split(separator: ",") {
        let pair = part.split(separator: "=", maxSplits: 1).map {
            $0.trimmingCharacters(in: CharacterSet(charactersIn: " \""))
        }
        if pair.count == 2 { result[pair[0]] = pair[1] }
    }
    return result
}

/// Accepts requests with the response that the case computes from its parameters and the hash of method and target.
private func digestServer(
    challenge more: String, _ response: @escaping @Sendable (_ sent: [String: String], _ action: String) -> String
) throws -> Server {
    try Server { request in
        let sent = parameters(request.value("Authorization"))
        let action = Digests.md5("\(request.method):\(sent["uri"] ?? "")")
        let challenge = ("WWW-Authenticate", "Digest realm=\"place\", nonce=\"n1\"\(more)")
        return sent["response"] == response(sent, action)
            ? Response(200, [("Cache-Control", "no-store")], "in") : Response(401, [challenge])
    }
}

private func digestServer(_ algorithm: String?) throws -> Server {
    let challenge = "Digest realm=\"place\", nonce=\"n1\", qop=\"auth\"" + (algorithm.map { ", algorithm=\($0)" } ?? "")
    return try Server { request in
        let sent = parameters(request.value("Authorization"))
        let secret = Digests.md5("user:place:secret")
        let action = Digests.md5("\(request.method):\(sent["uri"] ?? "")")
        let expected = Digests.md5("\(secret):n1:\(sent["nc"] ?? ""):\(sent["cnonce"] ?? ""):auth:\(action)")
        let isRight = sent["response"] == expected && sent["uri"] == request.target && sent["username"] == "user"
        return isRight
            ? Response(200, [("Cache-Control", "no-store")], "in")
            : Response(401, [("WWW-Authenticate", challenge)], "out")
    }
}

let authenticationCases: [Case] = [
    Case("AUTH-4", "T-35", name: "Basic with the delegate's credential; the 401 is not reported") {
        let server = try basicServer()
        let recorder = answering { _ in (.useCredential, credential()) }
        await run(server.url(), recorder)
        try equal(
            recorder.events.filter { $0 != "metrics" }, ["challenge", "response", "data", "complete"], "callbacks")
        try equal(text(recorder.seen.data), "in", "body")
        try equal(
            server.requests.map { $0.value("Authorization") }, [nil, basicValue("user", "secret")], "Authorization")
    },
    Case("AUTH-8", "AUTH-12", name: "a challenge tells the protection space and the response") {
        let server = try basicServer()
        let recorder = answering { _ in (.cancelAuthenticationChallenge, nil) }
        await run(server.url(), recorder)
        let challenge = try unwrap(recorder.seen.challenges.first, "challenge")
        try equal(challenge.protectionSpace.host, "127.0.0.1", "host")
        try equal(challenge.protectionSpace.port, server.port, "port")
        try equal(challenge.protectionSpace.protocol, "http", "protocol")
        try equal(challenge.protectionSpace.realm, "place", "realm")
        try equal(challenge.protectionSpace.authenticationMethod, NSURLAuthenticationMethodHTTPBasic, "method")
        try equal(challenge.protectionSpace.isProxy(), false, "isProxy")
        try equal(challenge.protectionSpace.receivesCredentialSecurely, false, "receivesCredentialSecurely")
        try equal((challenge.failureResponse as? HTTPURLResponse)?.statusCode, 401, "failureResponse")
        try equal(challenge.previousFailureCount, 0, "previousFailureCount")
        try check(challenge.proposedCredential == nil, "a proposed credential")
    },
    Case("AUTH-6", "T-37", name: "a cancelled challenge ends the task with -999") {
        let recorder = answering { _ in (.cancelAuthenticationChallenge, nil) }
        await run(try basicServer().url(), recorder)
        try equal(recorder.events.filter { $0 != "metrics" }, ["challenge", "complete"], "callbacks")
        try equal(code(recorder.seen.errors[0]), NSURLErrorCancelled, "error")
    },
    Case("AUTH-6", name: "after a cancelled challenge a completion handler gets neither data nor response") {
        let recorder = answering { _ in (.cancelAuthenticationChallenge, nil) }
        let outcome = await makeSession(recorder).load(try basicServer().url())
        try equal(outcome.code, NSURLErrorCancelled, "error")
        try check(outcome.data == nil && outcome.response == nil, "data or a response")
    },
    Case("AUTH-7", "T-36", name: "default handling without a credential delivers the 401") {
        let recorder = answering { _ in (.performDefaultHandling, nil) }
        await run(try basicServer().url(), recorder)
        try equal(recorder.seen.codes, [nil], "errors")
        try equal(lastStatus(recorder), 401, "status")
        try equal(text(recorder.seen.data), "out", "body")
    },
    Case("AUTH-4", "AUTH-29", name: "useCredential without a credential delivers the 401") {
        let recorder = answering { _ in (.useCredential, nil) }
        await run(try basicServer().url(), recorder)
        try equal(recorder.seen.codes, [nil], "errors")
        try equal(lastStatus(recorder), 401, "status")
    },
    Case("AUTH-4", "AUTH-5", name: "a rejected protection space is followed by the next") {
        let server = try basicServer([
            ("WWW-Authenticate", "Digest realm=\"place\", nonce=\"n1\", qop=\"auth\""), basic,
        ])
        let recorder = answering { challenge in
            challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
                ? (.useCredential, credential()) : (.rejectProtectionSpace, nil)
        }
        await run(server.url(), recorder)
        try equal(
            recorder.seen.challenges.map(\.protectionSpace.authenticationMethod),
            [NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodHTTPBasic], "challenges")
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-4", name: "when the only protection space is rejected, the 401 is delivered") {
        let recorder = answering { _ in (.rejectProtectionSpace, nil) }
        await run(try basicServer().url(), recorder)
        try equal(recorder.seen.codes, [nil], "errors")
        try equal(lastStatus(recorder), 401, "status")
    },
    Case("AUTH-9", name: "previousFailureCount counts refused credentials") {
        let recorder = answering { challenge in
            challenge.previousFailureCount < 2
                ? (.useCredential, credential("user", "wrong")) : (.cancelAuthenticationChallenge, nil)
        }
        await run(try basicServer().url(), recorder)
        try equal(recorder.seen.challenges.map(\.previousFailureCount), [0, 1, 2], "counts")
    },
    Case("AUTH-11", name: "without a delegate, the storage's default credential is used") {
        let server = try basicServer()
        let session = makeSession()
        session.configuration.urlCredentialStorage?.setDefaultCredential(credential(), for: space(server))
        try equal(await session.load(server.url()).summary, "200 in", "load")
    },
    Case("AUTH-8", "AUTH-11", name: "the storage's default credential is proposed to the delegate") {
        let server = try basicServer()
        let recorder = answering {
            $0.proposedCredential.map { (.useCredential, $0) } ?? (.cancelAuthenticationChallenge, nil)
        }
        let session = makeSession(recorder)
        session.configuration.urlCredentialStorage?.setDefaultCredential(credential(), for: space(server))
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        try equal(
            recorder.seen.challenges.map(\.proposedCredential?.user), ["user"], "users of the proposed credentials")
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-11", name: "the URL's user and password are used") {
        let server = try basicServer()
        let url = try unwrap(URL(string: "http://user:secret@127.0.0.1:\(server.port)/"), "URL")
        try equal(await makeSession().load(url).summary, "200 in", "load")
    },
    Case("AUTH-15", name: "an unknown scheme alone is no challenge") {
        let recorder = Recorder()
        await run(try Server(Response(401, [("WWW-Authenticate", "Unknown realm=\"x\"")], "out")).url(), recorder)
        try equal(recorder.seen.challenges.count, 0, "challenges")
        try equal(lastStatus(recorder), 401, "status")
        try equal(text(recorder.seen.data), "out", "body")
    },
    Case("AUTH-15", name: "several challenges in one field, and quoted commas") {
        let server = try basicServer([("WWW-Authenticate", "Unknown a=\"b, Basic c\", Basic realm=\"a, \\\"b\\\"\"")])
        let recorder = answering { _ in (.useCredential, credential()) }
        await run(server.url(), recorder)
        try equal(recorder.seen.challenges.map(\.protectionSpace.realm), ["a, \"b\""], "realms")
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-15", name: "the scheme's name has no case") {
        let server = try basicServer([("WWW-Authenticate", "bAsIc realm=\"place\"")])
        let recorder = answering { _ in (.useCredential, credential()) }
        await run(server.url(), recorder)
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-17", name: "Basic is UTF-8 where the server says so") {
        let server = try Server { request in
            request.value("Authorization") == basicValue("usér", "ключ")
                ? Response(200, [], "in")
                : Response(401, [("WWW-Authenticate", "Basic realm=\"place\", charset=\"UTF-8\"")])
        }
        let recorder = answering {
            $0.previousFailureCount == 0
                ? (.useCredential, credential("usér", "ключ")) : (.cancelAuthenticationChallenge, nil)
        }
        await run(server.url(), recorder)
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-18", name: "Digest with MD5 and qop=auth") {
        let recorder = answering {
            $0.previousFailureCount == 0 ? (.useCredential, credential()) : (.cancelAuthenticationChallenge, nil)
        }
        await run(try digestServer("MD5").url("/a?b=c"), recorder)
        try equal(
            recorder.seen.challenges.first?.protectionSpace.authenticationMethod, NSURLAuthenticationMethodHTTPDigest,
            "method")
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-18", name: "Digest without an algorithm is MD5") {
        let recorder = answering {
            $0.previousFailureCount == 0 ? (.useCredential, credential()) : (.cancelAuthenticationChallenge, nil)
        }
        await run(try digestServer(nil).url(), recorder)
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-18", name: "Digest without qop") {
        let server = try digestServer(challenge: "") { Digests.md5("\(Digests.md5("user:place:secret")):n1:\($1)") }
        let recorder = answering {
            $0.previousFailureCount == 0 ? (.useCredential, credential()) : (.cancelAuthenticationChallenge, nil)
        }
        await run(server.url(), recorder)
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-18", name: "Digest with MD5-sess") {
        let server = try digestServer(challenge: ", qop=\"auth\", algorithm=MD5-sess") { sent, action in
            let cnonce = sent["cnonce"] ?? ""
            let secret = Digests.md5("\(Digests.md5("user:place:secret")):n1:\(cnonce)")
            return Digests.md5("\(secret):n1:\(sent["nc"] ?? ""):\(cnonce):auth:\(action)")
        }
        let recorder = answering {
            $0.previousFailureCount == 0 ? (.useCredential, credential()) : (.cancelAuthenticationChallenge, nil)
        }
        await run(server.url(), recorder)
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-10", name: "a stored credential that the server refuses is not sent again and again") {
        let server = try basicServer()
        let session = makeSession()
        let wrong = credential("user", "wrong")
        session.configuration.urlCredentialStorage?.setDefaultCredential(wrong, for: space(server))
        try equal(await session.load(server.url()).summary, "401 out", "load")
        try check(server.requests.count <= 2, "\(server.requests.count) requests")
    },
    Case("AUTH-18", name: "a stale nonce is no failure") {
        let server = try Server { request in
            let nonce = parameters(request.value("Authorization"))["nonce"]
            let stale = nonce == "n1" ? ", stale=true" : ""
            let challenge = "Digest realm=\"place\", qop=\"auth\", nonce=\"\(nonce == nil ? "n1" : "n2")\"\(stale)"
            return nonce == "n2" ? Response(200, [], "in") : Response(401, [("WWW-Authenticate", challenge)])
        }
        let recorder = answering {
            $0.previousFailureCount == 0 ? (.useCredential, credential()) : (.cancelAuthenticationChallenge, nil)
        }
        await run(server.url(), recorder)
        try equal(lastStatus(recorder), 200, "status")
        try equal(recorder.seen.challenges.map(\.previousFailureCount).max(), 0, "largest failure count")
    },
    Case("AUTH-22", name: "a credential for the session is stored when the server has accepted it") {
        let server = try basicServer()
        let recorder = answering { _ in (.useCredential, credential()) }
        let session = makeSession(recorder)
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        let stored = session.configuration.urlCredentialStorage?.credentials(for: space(server))
        try equal(stored?["user"]?.password, "secret", "stored password")
    },
    Case("AUTH-32", name: "without a delegate and a credential storage, the 401 is delivered") {
        let session = makeSession { $0.urlCredentialStorage = nil }
        try equal(await session.load(try basicServer().url()).summary, "401 out", "load")
    },
    Case("AUTH-7", name: "without a delegate and a credential, the 401 is delivered") {
        try equal(await makeSession().load(try basicServer().url()).summary, "401 out", "load")
    },
    Case("AUTH-34", name: "a 401 without WWW-Authenticate is no challenge") {
        let recorder = Recorder()
        await run(try Server(Response(401, [], "out")).url(), recorder)
        try equal(recorder.seen.challenges.count, 0, "challenges")
        try equal(text(recorder.seen.data), "out", "body")
    },
    Case("AUTH-1", "S-56", name: "a password challenge does not go to the session's method") {
        let recorder = Recorder {
            $0.sessionChallenge = { _ in (.cancelAuthenticationChallenge, nil) }
            $0.challenge = { _ in (.useCredential, credential()) }
        }
        await run(try basicServer().url(), recorder)
        try equal(recorder.events.filter { $0.contains("challenge") }, ["challenge"], "callbacks")
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("AUTH-4", name: "the body is sent again after a challenge") {
        let server = try basicServer()
        let recorder = answering { _ in (.useCredential, credential()) }
        await run(request(server.url(), "POST", body: "abc"), recorder)
        try equal(server.requests.last.map { text($0.body) }, "abc", "last body")
        try equal(lastStatus(recorder), 200, "status")
    },
    Case("S-53", "T-51", name: "a challenge asks for a new stream of a streamed body") {
        let server = try basicServer()
        let recorder = Recorder {
            $0.stream = { InputStream(data: Data("streamed".utf8)) }
            $0.challenge = { _ in (.useCredential, credential()) }
        }
        makeSession(recorder).uploadTask(withStreamedRequest: request(server.url(), "POST")).resume()
        await recorder.completion()
        try equal(recorder.events.filter { $0 == "stream" }.count, 2, "streams")
        try equal(server.requests.last.map { text($0.body) }, "streamed", "last body")
    },
    Case("AUTH-13", name: "the constants of authentication methods") {
        try equal(NSURLAuthenticationMethodHTTPBasic, "NSURLAuthenticationMethodHTTPBasic", "Basic")
        try equal(NSURLAuthenticationMethodHTTPDigest, "NSURLAuthenticationMethodHTTPDigest", "Digest")
        try equal(NSURLAuthenticationMethodDefault, "NSURLAuthenticationMethodDefault", "default")
    },
    Case("AUTH-14", name: "a proxy's protection space has a proxyType and no protocol") {
        let space = URLProtectionSpace(
            proxyHost: "proxy.example", port: 3128, type: NSURLProtectionSpaceHTTPProxy, realm: nil,
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        try equal(space.isProxy(), true, "isProxy")
        try equal(space.proxyType, NSURLProtectionSpaceHTTPProxy, "proxyType")
        try equal(space.protocol, nil, "protocol")
    },
    Case("AUTH-23", name: "a storage has one credential for each user, and the default") {
        let server = try Server(Response(200))
        let storage = try unwrap(URLSessionConfiguration.ephemeral.urlCredentialStorage, "storage")
        let space = space(server)
        storage.set(credential("a", "1"), for: space)
        storage.set(credential("a", "2"), for: space)
        storage.set(credential("b", "3"), for: space)
        try equal(storage.credentials(for: space)?.mapValues(\.password), ["a": "2", "b": "3"], "passwords")
        storage.setDefaultCredential(credential("c", "4"), for: space)
        try equal(storage.defaultCredential(for: space)?.user, "c", "default")
        try equal(storage.credentials(for: space)?.count, 3, "credentials")
        storage.remove(credential("a", "2"), for: space)
        try equal(storage.credentials(for: space)?.keys.sorted(), ["b", "c"], "users")
        try check(storage.credentials(for: Conformance.otherSpace) == nil, "credentials of another space")
    },
    Case("AUTH-23", name: "a change of the storage posts a notification") {
        let posted = Locked(0)
        let observer = NotificationCenter.default.addObserver(
            forName: .NSURLCredentialStorageChanged, object: nil, queue: nil
        ) { _ in posted.withLock { $0 += 1 } }
        URLCredentialStorage.shared.set(credential(), for: Conformance.otherSpace)
        await quiet(500)
        NotificationCenter.default.removeObserver(observer)
        try check(posted.value > 0, "none")
    },
    Case("AUTH-21", name: "a credential keeps its parts") {
        let credential = URLCredential(user: "u", password: "p", persistence: .permanent)
        try equal(credential.user, "u", "user")
        try equal(credential.password, "p", "password")
        try equal(credential.hasPassword, true, "hasPassword")
        try equal(credential.persistence, .permanent, "persistence")
        try equal(credential, URLCredential(user: "u", password: "p", persistence: .permanent), "an equal one")
    },
]

extension Conformance {
    fileprivate static let otherSpace = URLProtectionSpace(
        host: "other.example", port: 80, protocol: "http", realm: "place",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
}
