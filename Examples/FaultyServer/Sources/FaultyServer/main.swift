// A client of an API, tried against a server that fails: what its tests would check with #expect is printed here.
//
//     swift run faulty-server
import URLLoading
import URLLoadingTesting

struct User: Codable {
    var name: String
}

/// What is tested: it repeats a request whose connection is lost, or that the server cannot answer at the moment.
struct UserClient {
    var session: URLSession
    var attempts = 3

    func user(_ id: Int) async throws -> User {
        guard let url = URL(string: "https://api.example.com/users/\(id)") else { throw URLError(.badURL) }
        var lastError = URLError(.unknown)
        for _ in 0..<attempts {
            do {
                let (data, response) = try await session.data(from: url)
                if (response as? HTTPURLResponse)?.statusCode == 200 {
                    return try JSONDecoder().decode(User.self, from: data)
                }
                lastError = URLError(.badServerResponse)
            } catch let error as URLError where error.code == .networkConnectionLost || error.code == .timedOut {
                lastError = error
            }
        }
        throw lastError
    }
}

let server = try TestServer()
let configuration = server.configuration()
configuration.timeoutIntervalForRequest = 0.5
let client = UserClient(session: URLSession(configuration: configuration))

// The body breaks off, then there is no answer at all, then there is one.
let user = try TestResponse(json: User(name: "Ada"))
server.enqueue(user.failing(.disconnect, after: .body(5)))
server.enqueue(TestResponse(status: 503))
server.enqueue(user)
print("the third attempt:", try await client.user(1).name)
for request in server.requests {
    print("   ", request.method, request.url?.absoluteString ?? "-", request.protocolName)
}

// A server that hangs.
server.handler = { _ in TestResponse().failing(.stall) }
do {
    print("it did not hang:", try await client.user(2).name)
} catch {
    print("a server that hangs:", error.localizedDescription)
}

// A certificate that has expired. This one is not repeated.
server.certificateFault = .expired
let other = UserClient(session: URLSession(configuration: configuration))
do {
    print("it was trusted:", try await other.user(3).name)
} catch {
    print("an expired certificate:", error.localizedDescription)
}
server.stop()
