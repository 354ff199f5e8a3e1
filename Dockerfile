# One image for every role: the command says which (see docker-compose.yml and ops/kubernetes).
# Node runs the TypeScript files as they are, so there is nothing to build.
# The version of Node is the one of package.json, which all tests run on.
FROM node:24.21.0-bookworm-slim

LABEL org.opencontainers.image.title="Tidemark" \
      org.opencontainers.image.description="A federated GraphQL API for watch history, likes, home feeds and feed de-duplication" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-bookworm-slim"

# Production: tokens only. In development anybody who reaches the port could claim to be any viewer.
ENV NODE_ENV=production TIDEMARK_MODE=production HOST=0.0.0.0 PORT=4000 TIDEMARK_DATA=/data
# The values are those of `npm start`: see "Memory" in docs/operating/deploy.md.
ENV NODE_OPTIONS=--max-semi-space-size=16
ENV MALLOC_ARENA_MAX=2
ENV NODE_COMPILE_CACHE=/app/compile-cache
WORKDIR /app

# First what changes rarely, so that a change of code installs nothing.
COPY package.json package-lock.json ./
COPY scripts/trim-packages ./scripts/trim-packages
RUN npm ci --omit=dev && npm cache clean --force
COPY LICENSE CHANGELOG.md ./
COPY core ./core
COPY config ./config
COPY writeback ./writeback
COPY stores ./stores
COPY cache ./cache
COPY loaders ./loaders
COPY subgraphs ./subgraphs
COPY gateway ./gateway
COPY conformance ./conformance
COPY schema ./schema
COPY cli ./cli
COPY pages ./pages
COPY examples/player-sdk ./examples/player-sdk

# The compiled code of every role. Node looks it up by the user of the process, and runs what it finds there: the user `node` writes it,
# and from then on nobody may change it. /data has the journals, and the embedded stores of `tidemark start`.
RUN mkdir -m 700 /app/compile-cache /data && chown node:node /app/compile-cache /data \
    && setpriv --reuid=node --regid=node --clear-groups node --input-type=module --eval "for (const file of ['program', 'start', 'job', 'subgraph', 'migrate-stores', 'doctor', 'stores/distributed/history', 'stores/distributed/counting', 'stores/change-feeds', '../stores/redis/live-value', '../gateway/transports/remote-transport', '../gateway/supergraph/compose']) await import('/app/cli/' + file + '.ts')" \
    && chown -R root:root /app/compile-cache && chmod -R a=rX,u+w /app/compile-cache
VOLUME /data
USER node
EXPOSE 4000

# Also used by docker-compose.yml. Kubernetes has probes of its own.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

# One process per container: it gets SIGTERM itself, and drains.
ENTRYPOINT ["node", "cli/tidemark.ts"]
CMD ["start"]
